"""A gateway puts payloads before their messages, deletes them after, and sweeps what others left (§16.2)."""

import random

import pytest
import trio
from trio.testing import MockClock

from sie.domain.errors import ErrorCode
from sie.domain.ids import RequestId, RouterId
from sie.gateway.core.offload import ORPHAN_AGE_S, Inline, Offload, Refused
from sie.gateway.dispatch.offload import SWEEP_EVERY_S, Payloads
from sie.runtime.world import Machine
from sie.storage.backend import StorageError
from sie.testing.payloads import MemoryPayloads
from sie.wire.payload import item_key
from tests.worker.doubles import run_inline

KEY = item_key(RouterId("gw-1"), RequestId("r1"), 3)
AWAY = StorageError("away")


def payloads(store: MemoryPayloads) -> Payloads:
    return Payloads(store, Machine(lambda: 1e9 + trio.current_time(), random.Random(1), run_inline, trio.Event()))


def offload(inline: bytes | None = None) -> Offload:
    return Offload(KEY, b"payload", b"message", inline)


async def test_a_message_is_given_out_once_its_payload_lies_there() -> None:
    store = MemoryPayloads()
    assert await payloads(store).place(offload(), 3) == b"message"
    assert store.get(KEY) == b"payload"
    assert await payloads(store).place(Inline(b"short"), 3) == b"short"
    refused = Refused(ErrorCode.PAYLOAD_TOO_LARGE, "long")
    assert await payloads(store).place(refused, 3) == refused
    assert set(store.objects) == {KEY}


async def test_without_the_store_what_fits_goes_inline_and_the_rest_may_be_tried_again() -> None:
    store = MemoryPayloads(failure=AWAY)
    assert await payloads(store).place(offload(b"whole"), 3) == b"whole"
    refused = await payloads(store).place(offload(), 3)
    assert isinstance(refused, Refused)
    assert refused.code == ErrorCode.QUEUE_UNAVAILABLE
    assert "item 3" in refused.message


async def test_forgetting_deletes_and_a_store_that_is_away_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryPayloads()
    store.put(KEY, b"x")
    await payloads(store).forget([KEY])
    assert store.objects == {}
    store.failure = AWAY
    await payloads(store).forget([KEY])
    assert "payloads could not be deleted" in caplog.text


async def test_orphans_are_swept_when_nothing_can_name_them_any_more(autojump_clock: MockClock) -> None:
    store = MemoryPayloads(lambda: 1e9 + trio.current_time())
    store.put(KEY, b"x")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(payloads(store).sweep_forever)
        await trio.sleep(ORPHAN_AGE_S - 1)
        assert set(store.objects) == {KEY}
        await trio.sleep(SWEEP_EVERY_S + 2)
        assert store.objects == {}
        nursery.cancel_scope.cancel()


async def test_sweeping_outlives_a_store_that_is_away(autojump_clock: MockClock) -> None:
    store = MemoryPayloads(lambda: 0.0, AWAY)
    store.objects[KEY] = (b"x", 0.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(payloads(store).sweep_forever)
        await trio.sleep(SWEEP_EVERY_S / 2)
        store.failure = None
        await trio.sleep(SWEEP_EVERY_S)
        assert store.objects == {}
        nursery.cancel_scope.cancel()
