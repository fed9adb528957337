"""Hearing workers each at its own `/ws/status` (§8, decisions: health mode `ws`): one supervised client an address.

A frame says what a heartbeat says, and goes into the same fleet.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn
from urllib.parse import urlsplit

import attrs
import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, RejectConnection, TextMessage
from wsproto.events import Request as Handshake
from wsproto.utilities import RemoteProtocolError

from sie.domain.worker import HEARTBEAT_STALE_S
from sie.gateway.core.fleet import Fleet
from sie.runtime.retrying import Backoff
from sie.wire.converters import WireError
from sie.wire.heartbeat import decode_heartbeat

log = logging.getLogger(__name__)

PATH = "/ws/status"
BACKOFF = Backoff(initial_s=0.5, cap_s=15.0)
CONNECT_S = 5.0
SILENT_S = HEARTBEAT_STALE_S
"""A worker that sends nothing for so long is not there, whatever its connection says."""
MAX_FRAME_BYTES = 1024 * 1024
_PORTS = {"http": 80, "https": 443}


class InvalidPlace(ValueError):
    """An address that is no worker's; the message shows it."""


class Lost(Exception):
    """The connection ended, or says what it may not; another one is made."""


@attrs.frozen
class Place:
    """Where a worker listens. `url` is what it is known by, as long as it tells no name of its own."""

    url: str
    host: str
    port: int
    has_tls: bool

    @classmethod
    def of(cls, url: str) -> "Place":
        """Raises InvalidPlace."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise InvalidPlace(f"worker {url!r}: {error}") from error
        if parts.scheme not in _PORTS or not host:
            raise InvalidPlace(f"worker {url!r} must look like http://host:port")
        return cls(url.rstrip("/"), host, port or _PORTS[parts.scheme], parts.scheme == "https")


Connect = Callable[[Place], Awaitable[trio.abc.Stream]]
"""Raises OSError."""


async def open_stream(place: Place) -> trio.abc.Stream:
    if place.has_tls:
        return await trio.open_ssl_over_tcp_stream(place.host, place.port, https_compatible=True)
    return await trio.open_tcp_stream(place.host, place.port)


async def watch_forever(place: Place, fleet: Fleet, connect: Connect) -> NoReturn:
    delays_s = BACKOFF.delays()
    while True:
        began = trio.current_time()
        try:
            await _watch(place, fleet, connect)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError, Lost, RemoteProtocolError) as error:
            log.warning("a worker's status is lost", extra={"worker": place.url, "error": str(error) or repr(error)})
        if trio.current_time() - began > BACKOFF.cap_s:
            delays_s = BACKOFF.delays()
        await trio.sleep(next(delays_s))


async def _watch(place: Place, fleet: Fleet, connect: Connect) -> NoReturn:
    with trio.fail_after(CONNECT_S):
        stream = await connect(place)
    async with stream:
        reader = _Reader(WSConnection(ConnectionType.CLIENT))
        await _send(stream, reader.connection.send(Handshake(host=f"{place.host}:{place.port}", target=PATH)))
        while True:
            with trio.fail_after(SILENT_S):
                data = await stream.receive_some(64 * 1024)
            for frame in reader.receive(bytes(data)):
                _observe(place, fleet, frame)
            await _send(stream, reader.answers())


async def _send(stream: trio.abc.Stream, data: bytes) -> None:
    with trio.fail_after(CONNECT_S):
        await stream.send_all(data)


def _observe(place: Place, fleet: Fleet, frame: bytes) -> None:
    try:
        status = decode_heartbeat(frame, subject=place.url)
    except WireError as error:
        log.warning("a worker's status cannot be read", extra={"worker": place.url, "error": str(error)})
    else:
        fleet.observe(attrs.evolve(status, url=place.url), trio.current_time())


@attrs.define
class _Reader:
    """Whole frames out of bytes. Sans-IO."""

    connection: WSConnection
    _parts: list[bytes] = attrs.field(factory=list)
    _size: int = 0
    _answers: list[bytes] = attrs.field(factory=list)

    def receive(self, data: bytes) -> list[bytes]:
        """Raises Lost or RemoteProtocolError."""
        self.connection.receive_data(data or None)
        return [frame for event in self.connection.events() if (frame := self._take(event)) is not None]

    def answers(self) -> bytes:
        """What is owed to the other side."""
        owed, self._answers = b"".join(self._answers), []
        return owed

    def _take(self, event: Event) -> bytes | None:
        match event:
            case TextMessage() | BytesMessage():
                return self._take_part(event)
            case Ping():
                self._answers.append(self.connection.send(event.response()))
            case RejectConnection(status_code=status):
                raise Lost(f"it refused with {status}")
            case CloseConnection(code=code):
                raise Lost(f"it closed with {code}")
            case _:  # what answers our own frames, and what extensions add
                pass
        return None

    def _take_part(self, event: TextMessage | BytesMessage) -> bytes | None:
        part = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
        self._size += len(part)
        if self._size > MAX_FRAME_BYTES:
            raise Lost(f"a frame is over {MAX_FRAME_BYTES} bytes")
        self._parts.append(part)
        if not event.message_finished:
            return None
        frame, self._parts, self._size = b"".join(self._parts), [], 0
        return frame
