"""One client's connection to the gateway: asked one thing after another, and made anew when the gateway ended it.

It tells an answer from a connection that was lost, and notices what comes without having been asked for.
"""

import select
from collections.abc import Mapping

import attrs
import h11
import trio

from sie.cli.ports import LOOPBACK

CONNECT_S = 10.0
READ_S = 150.0
"""Both are the published SDK's (wire-facts 1.1)."""
READ_BYTES = 65536


class Lost(Exception):
    """No connection, or it ended before the whole answer was there. `was_open`: the other side had accepted it."""

    def __init__(self, reason: str, *, was_open: bool) -> None:
        super().__init__(reason)
        self.was_open = was_open


class Unanswered(Exception):
    """Nothing came for as long as a client waits for the next bytes."""


@attrs.frozen
class Answer:
    """Names of `headers` in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@attrs.define(eq=False)
class Connection:
    """`strays` counts answers that nobody had asked for."""

    port: int
    strays: int = 0
    _stream: trio.SocketStream | None = attrs.field(default=None, init=False)

    async def post(self, path: str, media: str, body: bytes) -> Answer:
        """Raises Lost, Unanswered. However it ends, the connection can be asked again."""
        whole = False
        try:
            stream = self._stream = await self._open()
            http = h11.Connection(h11.CLIENT)
            await stream.send_all(_written(http, path, media, body))
            answer = await _read(http, stream)
            more = bool(http.trailing_data[0])
            self.strays += more
            whole = http.their_state is h11.DONE and not more
        except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError) as error:
            was_open = self._stream is not None
            raise Lost(str(error) or type(error).__name__, was_open=was_open) from error
        finally:
            if not whole:
                await self.leave()
        return answer

    async def leave(self) -> None:
        """At once, whatever is on its way."""
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await trio.aclose_forcefully(stream)

    async def _open(self) -> trio.SocketStream:
        """The open connection, unless the other side has ended it meanwhile."""
        if self._stream is not None and _readable(self._stream):
            self.strays += bool(await self._stream.receive_some(READ_BYTES))
            await self.leave()
        if self._stream is not None:
            return self._stream
        with trio.move_on_after(CONNECT_S):
            return await trio.open_tcp_stream(LOOPBACK, self.port)
        raise Lost("no connection in time", was_open=False)


def _readable(stream: trio.SocketStream) -> bool:
    """What can be read when nothing is awaited is an end, or an answer too many."""
    return bool(select.select([stream.socket.fileno()], [], [], 0)[0])


def _written(http: h11.Connection, path: str, media: str, body: bytes) -> bytes:
    headers = [
        ("Host", LOOPBACK),
        ("Content-Type", media),
        ("Accept", media),
        ("Content-Length", str(len(body))),
    ]
    head = http.send(h11.Request(method="POST", target=path, headers=headers)) or b""
    return head + (http.send(h11.Data(body)) or b"") + (http.send(h11.EndOfMessage()) or b"")


async def _read(http: h11.Connection, stream: trio.SocketStream) -> Answer:
    status, headers, body = 0, dict[str, str](), b""
    while True:
        match http.next_event():
            case h11.Response() as head:
                status = head.status_code
                headers = {name.decode().lower(): value.decode() for name, value in head.headers}
            case h11.Data() as piece:
                body += bytes(piece.data)
            case h11.EndOfMessage():
                return Answer(status, headers, body)
            case h11.NEED_DATA:
                http.receive_data(await _more(stream))
            case _:  # an interim response
                continue


async def _more(stream: trio.SocketStream) -> bytes:
    with trio.move_on_after(READ_S):
        return bytes(await stream.receive_some(READ_BYTES))
    raise Unanswered
