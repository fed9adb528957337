"""Which ports do the processes listen on? Chosen before any of them starts, so that all can start at once."""

import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"


class PortTaken(Exception):
    """The gateway cannot listen where it was told to."""


def free_ports(count: int) -> tuple[int, ...]:
    """Different ports of the loopback address that nothing listens on now."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for free in sockets:
            free.bind((LOOPBACK, 0))
        return tuple(free.getsockname()[1] for free in sockets)


def check_free(host: str, port: int) -> None:
    """Raises PortTaken when nothing could listen there, for whatever reason."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        raise PortTaken(
            f"port {port} on {host} cannot be listened on: {error.strerror}; free it, or pass another --port"
        ) from error


def reachable(host: str) -> str:
    """The address by which this machine reaches a server that listens on `host`."""
    everywhere = {"": LOOPBACK, "0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 -- read here, bound by none of us
    return everywhere.get(host, host)


def url(scheme: str, host: str, port: int) -> str:
    name = reachable(host)
    return f"{scheme}://[{name}]:{port}" if ":" in name else f"{scheme}://{name}:{port}"
