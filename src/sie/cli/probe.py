"""One look at a server on this machine: does it answer, and what? A few lines of HTTP: a client costs start time."""

import re

import trio

LOOK_S = 2.0
"""A server that takes longer for one look counts as not answering yet."""
MAX_REPLY_BYTES = 4 * 1024 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


async def fetch(host: str, port: int, path: str, *, token: str | None = None) -> bytes | None:
    """The body of a 200 reply, None for anything else."""
    login = f"Authorization: Bearer {token}\r\n" if token else ""
    request = f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n{login}\r\n".encode()
    reply = await _talk(host, port, request)
    return body_of(reply)


async def greets(host: str, port: int) -> bool:
    """Whether a NATS server says its first words there, which it does unasked."""
    with trio.move_on_after(LOOK_S):
        try:
            async with await trio.open_tcp_stream(host, port) as stream:
                return (await stream.receive_some(64)).startswith(b"INFO ")
        except (OSError, trio.BrokenResourceError):
            return False
    return False


async def _talk(host: str, port: int, request: bytes) -> bytes:
    reply = bytearray()
    with trio.move_on_after(LOOK_S):
        try:
            async with await trio.open_tcp_stream(host, port) as stream:
                await stream.send_all(request)
                while not is_whole(reply) and (piece := await stream.receive_some()):
                    reply += piece
                return bytes(reply)
        except (OSError, trio.BrokenResourceError):
            return b""
    return b""


def is_whole(reply: bytes | bytearray) -> bool:
    """To an HTTP/1.0 request a reply comes in one piece, of a length told or ended with the connection."""
    if len(reply) > MAX_REPLY_BYTES:
        return True
    head, end, body = bytes(reply).partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def body_of(reply: bytes) -> bytes | None:
    head, end, body = reply.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    return body if end and status == [b"200"] else None
