"""Reading and deleting one message of a stream, from a real nats-server and from its double (§8.2)."""

from pathlib import Path

import pytest
import trio

from sie.bus.api import Bus
from sie.bus.jetstream import ApiError, call_api, ensure_stream
from sie.bus.jetstream_api import Storage
from sie.bus.stored import delete_stored, read_span, read_stored
from sie.bus.stored_api import Span
from sie.wire.work import encode_work
from tests.bus.either import KINDS, Kind, open_either
from tests.bus.giving_up import SUBJECT, count_in, queue, stream_spec, work
from tests.bus.waiting import CEILING_S

STREAM = stream_spec().name
STORAGES: tuple[Storage, ...] = ("memory", "file")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage", STORAGES)
async def test_a_message_is_read_until_it_is_deleted_and_its_neighbours_stay(
    kind: Kind, storage: Storage, tmp_path: Path
) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("t") as bus:
            await bus.wait_session()
            await queue(bus, [work(0), work(1)], storage=storage)
            found = await read_stored(bus, STREAM, 1)
            assert found is not None
            assert (found.seq, found.subject, found.data) == (1, SUBJECT, encode_work(work(0)))
            assert await delete_stored(bus, STREAM, 1)
            assert await read_stored(bus, STREAM, 1) is None
            assert not await delete_stored(bus, STREAM, 1)
            assert not await delete_stored(bus, STREAM, 9)
            assert (await read_span(bus, STREAM), await count_in(bus, STREAM)) == (Span(2, 2), 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage", STORAGES)
async def test_deleting_what_is_not_there_is_refused_by_the_same_rule(
    kind: Kind, storage: Storage, tmp_path: Path
) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("t") as bus:
            await bus.wait_session()
            await queue(bus, [work(0), work(1), work(2)], storage=storage)
            codes = []
            for seq in (2, 1):
                await delete_stored(bus, STREAM, seq)
                codes.append(await refusal(bus, seq))
            assert codes == ([10043, 10043] if storage == "memory" else [10043, 10057])
            assert await refusal(bus, 9) == (10043 if storage == "memory" else 10057)


async def refusal(bus: Bus, seq: int) -> int:
    with pytest.raises(ApiError) as raised:
        await call_api(bus, f"STREAM.MSG.DELETE.{STREAM}", {"seq": seq, "no_erase": True})
    return raised.value.err_code


@pytest.mark.parametrize("kind", KINDS)
async def test_of_a_stream_that_is_not_there_nothing_is_read(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("t") as bus:
            await bus.wait_session()
            assert await read_stored(bus, STREAM, 1) is None
            assert await read_span(bus, STREAM) is None
            assert not await delete_stored(bus, STREAM, 1)
            await ensure_stream(bus, stream_spec())
            span = await read_span(bus, STREAM)
            assert span is not None
            assert span.first > span.last
