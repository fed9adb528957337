"""The connection of `ci/simulate --processes`: an answer, a loss and an answer too many are told apart."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio

from ci.lib.processes_http import Answer, Connection, Lost
from sie.cli.ports import free_ports

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Of: Ours\r\n\r\nhi"
SHORT = OK[:-1]


@asynccontextmanager
async def serving(connections: Sequence[Sequence[bytes]]) -> AsyncIterator[int]:
    """Each connection is answered with what is next for it, request by request, and then ended."""
    waiting = iter(connections)

    async def serve(stream: trio.SocketStream) -> None:
        for answer in next(waiting):
            await stream.receive_some()
            await stream.send_all(answer)
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def ask(connection: Connection) -> Answer:
    return await connection.post("/path", "application/json", b"{}")


async def ended(connection: Connection) -> None:
    """Until the other side's end, or its answer too many, has come in."""
    stream = connection._stream
    assert stream is not None
    await trio.lowlevel.wait_readable(stream.socket)


async def test_one_connection_is_asked_again_and_again() -> None:
    async with serving([[OK, OK]]) as port:
        connection = Connection(port)
        first, second = await ask(connection), await ask(connection)
        await connection.leave()
    assert (first.status, first.headers["x-of"], first.body) == (200, "Ours", b"hi")
    assert second == first


async def test_one_that_the_server_ended_is_made_anew() -> None:
    async with serving([[OK], [OK]]) as port:
        connection = Connection(port)
        await ask(connection)
        await ended(connection)
        assert (await ask(connection)).status == 200
        await connection.leave()
    assert connection.strays == 0


async def test_an_answer_that_is_cut_off_is_lost_and_the_next_one_is_not() -> None:
    async with serving([[SHORT], [OK]]) as port:
        connection = Connection(port)
        with pytest.raises(Lost) as lost:
            await ask(connection)
        assert lost.value.was_open
        assert (await ask(connection)).status == 200
        await connection.leave()


async def test_no_server_at_all_is_lost() -> None:
    (port,) = free_ports(1)
    with pytest.raises(Lost) as lost:
        await ask(Connection(port))
    assert not lost.value.was_open


@pytest.mark.parametrize("extra", [OK, b"HTTP"])
async def test_an_answer_too_many_is_counted(extra: bytes) -> None:
    async with serving([[OK + extra], [OK]]) as port:
        connection = Connection(port)
        await ask(connection)
        if not connection.strays:
            await ended(connection)
            await ask(connection)
        await connection.leave()
    assert connection.strays == 1
