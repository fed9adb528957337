"""Work that nobody waits for any more is acked and dropped before it reaches the backend (§8); what runs runs on."""

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import Message
from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import WORK_CANCELS, batch_cancel_subject, batch_cancels, work_cancel_subject
from sie.wire.cancel import BatchCancel, WorkCancel, encode_cancel
from sie.wire.ipc import EncodeBatch
from tests.worker.doubles import MODEL, WORKER, Peer, delivery, own_delivery, work
from tests.worker.stage import Stage, lane_words_of, own_words_of, until, words_of, worker

ROUTER, REQUEST = RouterId("gw-1"), RequestId("r1")


async def take_a_second(peer: Peer) -> None:
    async def on_batch(_: EncodeBatch) -> None:
        await trio.sleep(1)

    await peer.serve(on_batch)


async def load_never(peer: Peer) -> None:
    await peer.greet()
    await trio.sleep_forever()


def abandon(stage: Stage, request: RequestId = REQUEST) -> None:
    data = encode_cancel(WorkCancel(router_id=ROUTER, request_id=request))
    stage.bus.handlers[f"{WORK_CANCELS} "](Message(work_cancel_subject(ROUTER, request), data))


def withdraw(stage: Stage, *indexes: int) -> None:
    cancel = BatchCancel(router_id=ROUTER, request_id=REQUEST, worker_id=WORKER, item_indexes=indexes)
    subject = batch_cancel_subject(ROUTER, WORKER, REQUEST)
    stage.bus.handlers[f"{batch_cancels(WORKER)} "](Message(subject, encode_cancel(cancel)))


async def test_work_that_comes_after_its_cancel_is_acked_and_dropped(autojump_clock: MockClock) -> None:
    async with worker(preload=(MODEL,)) as stage:
        await stage.until_ready()
        abandon(stage)
        stage.queue.put(delivery(work(0), 1), delivery(attrs.evolve(work(1), request_id="r2"), 2))
        stage.own_queue.put(own_delivery(work(2)))
        (result,) = await stage.results(1)
        await until(lambda: len(lane_words_of(stage)) == 2)
        assert (result.request_id, own_words_of(stage)) == ("r2", [b"+ACK"])
        assert lane_words_of(stage) == [b"+ACK", b"+ACK"]


async def test_work_that_waits_is_acked_and_dropped_when_its_cancel_comes(autojump_clock: MockClock) -> None:
    async with worker(load_never) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work(0), 1), delivery(attrs.evolve(work(1), request_id="r2"), 2))
        await until(lambda: stage.status().pending_items == 2)
        abandon(stage)
        assert words_of(stage) == {1: [b"+ACK"]}
        await until(lambda: stage.status().pending_items == 1)
        assert stage.bus.results() == []


async def test_another_gateways_request_of_the_same_name_is_run(autojump_clock: MockClock) -> None:
    async with worker(preload=(MODEL,)) as stage:
        await stage.until_ready()
        abandon(stage)
        stage.queue.put(delivery(attrs.evolve(work(0), router_id="gw-2")))
        (result,) = await stage.results(1)
        assert result.success


async def test_what_is_with_the_backend_runs_on(autojump_clock: MockClock) -> None:
    async with worker(take_a_second, preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work(0)))
        await trio.sleep(0.5)
        abandon(stage)
        (result,) = await stage.results(1)
        assert result.success
        assert words_of(stage) == {1: [b"+ACK"]}


async def test_a_withdrawal_is_of_the_items_it_names_and_of_the_own_queue_alone(autojump_clock: MockClock) -> None:
    async with worker(load_never) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work(0), 1))
        stage.own_queue.put(own_delivery(work(1), 1), own_delivery(work(2), 2))
        await until(lambda: stage.status().pending_items == 3)
        withdraw(stage, 0, 1, 3)
        assert own_words_of(stage) == [b"+ACK"]
        stage.own_queue.put(own_delivery(work(3), 3))
        await until(lambda: len(own_words_of(stage)) == 2)
        assert lane_words_of(stage) == []
        await until(lambda: stage.status().pending_items == 2)


async def test_room_that_a_cancel_makes_is_filled_again(autojump_clock: MockClock) -> None:
    async with worker(load_never) as stage:
        await stage.until_ready()
        stage.queue.put(*(delivery(work(n), n + 1) for n in range(192)))
        await until(lambda: stage.queue.left == 1 and stage.own_queue.opened == 1)
        stage.queue.put(delivery(attrs.evolve(work(500), request_id="r2"), 500))
        await trio.sleep(60)
        assert stage.queue.buffered
        abandon(stage)
        await until(lambda: not stage.queue.buffered)


@pytest.mark.parametrize("data", [b"\xc1", b"\x80", encode_cancel(WorkCancel(router_id="gw-2", request_id="r1"))])
async def test_what_is_no_cancel_or_of_another_subject_changes_nothing_and_is_logged(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    async with worker(preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.bus.handlers[f"{WORK_CANCELS} "](Message(work_cancel_subject(ROUTER, REQUEST), data))
        stage.bus.handlers[f"{batch_cancels(WORKER)} "](Message(batch_cancel_subject(ROUTER, WORKER, REQUEST), data))
        stage.queue.put(delivery(work(0)))
        (result,) = await stage.results(1)
        assert result.success
    assert len([message for message in caplog.messages if "cancel" in message]) == 2
