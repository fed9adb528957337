"""HTTP clients of the reference gateway, as light as they can be: `ci/bench dispatch` asks it over loopback."""

from collections.abc import Iterator

import trio

from ci.lib.bench_dispatch_facts import PATH, Asked

HOST = "127.0.0.1"
READ_BYTES = 65536


async def ask(port: int, question: Asked, count: int, width: int) -> None:
    """`width` connections at a time, `count` requests in all. Raises RuntimeError on a reply that is no success."""
    numbers = iter(range(count))
    async with trio.open_nursery() as nursery:
        for _ in range(width):
            nursery.start_soon(_client, port, head_of(question) + question.body, numbers)


async def get(port: int, path: str) -> bytes:
    async with await trio.open_tcp_stream(HOST, port) as stream:
        return await _exchanged(stream, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())


async def _client(port: int, sent: bytes, numbers: Iterator[int]) -> None:
    async with await trio.open_tcp_stream(HOST, port) as stream:
        for _ in numbers:
            await _exchanged(stream, sent)


async def _exchanged(stream: trio.SocketStream, sent: bytes) -> bytes:
    await stream.send_all(sent)
    received = b""
    while b"\r\n\r\n" not in received:
        received += await _more(stream)
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"the reference gateway answered {head[:200]!r} {body[:200]!r}")
    size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < size:
        body += await _more(stream)
    return body


async def _more(stream: trio.SocketStream) -> bytes:
    received = bytes(await stream.receive_some(READ_BYTES))
    if not received:
        raise RuntimeError("the reference gateway ended the connection")
    return received


def head_of(question: Asked) -> bytes:
    kind, size = question.content_type, len(question.body)
    lines = (
        f"POST {PATH} HTTP/1.1",
        f"Host: {HOST}",
        "Accept: */*",
        f"Content-Type: {kind}",
        f"Content-Length: {size}",
    )
    return "\r\n".join((*lines, "", "")).encode()
