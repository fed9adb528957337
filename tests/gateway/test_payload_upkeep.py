"""A gateway puts inputs aside, deletes them when their request is over, and sweeps what others left (§16.2)."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sie.domain.ids import RequestId, RouterId
from sie.gateway.core.offload import ORPHAN_AGE_S
from sie.gateway.dispatch.payloads import MAX_DISCARDS, SWEEP_S, Payloads, open_payloads
from sie.runtime.world import Machine
from sie.storage.backend import StorageError
from sie.testing.payloads import MemoryPayloads
from sie.wire.payload import PayloadKey, item_key
from tests.worker.doubles import run_inline

AWAY = StorageError("away")


def key(number: int) -> PayloadKey:
    return item_key(RouterId("gw-1"), RequestId("r1"), number)


@asynccontextmanager
async def opened(store: MemoryPayloads) -> AsyncIterator[Payloads]:
    machine = Machine(lambda: 1e9 + trio.current_time(), random.Random(1), run_inline, trio.Event())
    async with open_payloads("place", lambda _: store, machine) as payloads:
        assert payloads is not None
        yield payloads


def in_memory() -> MemoryPayloads:
    return MemoryPayloads(lambda: 1e9 + trio.current_time())


async def test_an_input_lies_there_until_it_is_discarded(autojump_clock: MockClock) -> None:
    store = in_memory()
    async with opened(store) as payloads:
        assert await payloads.put(key(0), b"x")
        assert await payloads.put(key(1), b"y")
        assert store.get(key(0)) == b"x"
        payloads.discard_soon([key(0)])
        await wait_all_tasks_blocked()
        assert set(store.objects) == {key(1)}


async def test_a_store_that_is_away_ends_nothing(autojump_clock: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryPayloads(lambda: 0.0, AWAY)
    store.objects[key(0)] = (b"an orphan", 0.0)
    async with opened(store) as payloads:
        assert not await payloads.put(key(1), b"x")
        payloads.discard_soon([key(1)])
        await trio.sleep(SWEEP_S / 4)
        assert {"inputs could not be deleted", "orphaned inputs cannot be swept"} <= set(caplog.messages)
        store.failure = None
        await trio.sleep(2 * SWEEP_S)
        assert store.objects == {}


async def test_orphans_are_swept_when_nothing_can_name_them_any_more(autojump_clock: MockClock) -> None:
    store = in_memory()
    store.put(key(0), b"x")
    async with opened(store):
        await trio.sleep(ORPHAN_AGE_S - 1)
        assert set(store.objects) == {key(0)}
        await trio.sleep(2 * SWEEP_S)
        assert store.objects == {}


async def test_what_waits_to_be_deleted_at_the_end_is_deleted_and_the_rest_was_shed(autojump_clock: MockClock) -> None:
    store, more = in_memory(), 3
    for number in range(MAX_DISCARDS + more):
        store.put(key(number), b"")
    async with opened(store) as payloads:
        await wait_all_tasks_blocked()
        for number in range(MAX_DISCARDS + more):
            payloads.discard_soon([key(number)])
    assert len(store.objects) == payloads.shed
    assert payloads.shed in (more - 1, more), "one may be in the hands of the task already"


async def test_without_an_address_there_is_no_store() -> None:
    machine = Machine(lambda: 0.0, random.Random(1), run_inline, trio.Event())
    async with open_payloads(None, lambda _: in_memory(), machine) as payloads:
        assert payloads is None
