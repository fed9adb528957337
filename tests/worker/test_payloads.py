"""A worker fetches an input that was sent beside its message, or says why it cannot (§16.2)."""

from collections.abc import Callable
from typing import TypeVar

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.domain.errors import ErrorCode
from sie.storage.backend import StorageError
from sie.testing.payloads import MemoryPayloads
from sie.wire.payload import MAX_OBJECT_BYTES, Detached, PayloadKey, detach
from sie.worker.consume.payloads import STORE_NAK_S, Fetched, Payloads
from sie.worker.core.accept import Nak, Refuse
from tests.worker.doubles import run_inline, work

T = TypeVar("T")
FETCH_S = 0.25


def offloaded() -> Detached:
    found = detach(work())
    assert found is not None
    return found


async def slowly(do: Callable[[], T], /) -> T:
    await trio.sleep(FETCH_S)
    return do()


async def test_an_input_in_the_store_is_fetched_and_timed(autojump_clock: MockClock) -> None:
    there, store = offloaded(), MemoryPayloads()
    store.put(there.key, there.payload)
    fetched = await Payloads(store, slowly).fetch(there.item)
    assert isinstance(fetched, Fetched)
    assert fetched.work == work()
    assert fetched.payload_fetch_ms == pytest.approx(FETCH_S * 1000)


async def test_an_input_in_the_message_is_not_asked_for() -> None:
    store = MemoryPayloads(failure=StorageError("away"))
    assert await Payloads(store, run_inline).fetch(work()) == Fetched(work())
    assert await Payloads(None, run_inline).fetch(work()) == Fetched(work())


@pytest.mark.parametrize("store", [MemoryPayloads(), None], ids=["deleted", "no store"])
async def test_an_input_that_cannot_be_had_any_more_is_a_typed_error(store: MemoryPayloads | None) -> None:
    refused = await Payloads(store, run_inline).fetch(offloaded().item)
    assert isinstance(refused, Refuse)
    assert refused.code == ErrorCode.PAYLOAD_UNAVAILABLE


async def test_a_store_that_fails_costs_a_delay() -> None:
    given_back = await Payloads(MemoryPayloads(failure=StorageError("away")), run_inline).fetch(offloaded().item)
    assert given_back == Nak(STORE_NAK_S, "the payload store failed: away")


async def test_an_input_over_the_bound_is_not_read() -> None:
    there, store = offloaded(), MemoryPayloads()
    store.objects[there.key] = (bytes(MAX_OBJECT_BYTES + 1), 0.0)
    refused = await Payloads(store, run_inline).fetch(there.item)
    assert isinstance(refused, Refuse)
    assert refused.code == ErrorCode.PAYLOAD_TOO_LARGE
    assert str(MAX_OBJECT_BYTES) in refused.message


async def test_a_reference_that_leads_elsewhere_is_not_followed() -> None:
    store = MemoryPayloads(failure=AssertionError("it was asked"))
    item = attrs.evolve(work(), item=None, payload_ref=PayloadKey("../secrets"))
    refused = await Payloads(store, run_inline).fetch(item)
    assert isinstance(refused, Refuse)
    assert refused.code == ErrorCode.INVALID_REQUEST
