"""Streams are listed and deleted: at a real nats-server, which tells names by the page, and at its double."""

from pathlib import Path

import pytest
import trio

from sie.bus.jetstream import StreamSpec, call_api, ensure_stream
from sie.bus.streams import delete_stream, held_messages, stream_names
from tests.bus.either import KINDS, Kind, open_either

pytestmark = [pytest.mark.system]

A_PAGE = 1024


def spec(name: str) -> StreamSpec:
    return StreamSpec(name, (f"work.{name}",), "workqueue", "memory", 1, 60, 10, "new")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_tells_what_it_holds_and_goes_once(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(30):
        async with open_either(kind, tmp_path) as broker, broker.bus("one") as bus:
            await bus.wait_session()
            assert await stream_names(bus) == ()
            assert await held_messages(bus, "A") is None
            await ensure_stream(bus, spec("A"))
            assert await held_messages(bus, "A") == 0
            bus.publish_nowait("work.A", b"1")
            while await held_messages(bus, "A") != 1:  # noqa: ASYNC110 - the broker is asked
                await trio.sleep(0.02)
            assert await stream_names(bus) == ("A",)
            assert await delete_stream(bus, "A")
            assert not await delete_stream(bus, "A")
            assert await held_messages(bus, "A") is None


async def test_names_of_more_streams_than_a_page_holds_are_all_told(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_either("real", tmp_path) as broker, broker.bus("one") as bus:
            await bus.wait_session()
            wanted = {f"S{number}" for number in range(A_PAGE + 10)}
            limit = trio.CapacityLimiter(32)

            async def make(name: str) -> None:
                async with limit:
                    await ensure_stream(bus, spec(name), timeout_s=30)

            async with trio.open_nursery() as nursery:
                for name in wanted:
                    nursery.start_soon(make, name)
            answer = await call_api(bus, "STREAM.NAMES")
            page = answer["streams"]
            assert isinstance(page, list)
            assert len(page) == A_PAGE
            assert set(await stream_names(bus)) == wanted
