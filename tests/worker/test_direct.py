"""Work that is sent to a worker by name (§8.2) is run like any, marked as such, and never beside its pool's copy."""

import attrs
import trio
from trio.testing import MockClock

from sie.bus.api import ReplyTimeout
from sie.wire.ipc import EncodeBatch
from sie.wire.work import WorkItem
from sie.worker.core.held_work import FULL_ITEMS, RENEW_AFTER_S
from tests.worker.doubles import MODEL, Peer, delivery, own_delivery, work
from tests.worker.stage import lane_words_of, own_words_of, until, worker


class Noting:
    """A backend that takes a minute a batch, and notes the texts that it is given."""

    def __init__(self) -> None:
        self.texts: list[object] = []

    async def __call__(self, peer: Peer) -> None:
        async def on_batch(batch: EncodeBatch) -> None:
            self.texts += [item.item["text"] for item in batch.items]
            await trio.sleep(60)

        await peer.serve(on_batch)


def settled(words: list[bytes]) -> list[bytes]:
    return [word for word in words if word != b"+WPI"]


async def test_work_by_name_is_answered_as_such_and_the_lanes_is_not(autojump_clock: MockClock) -> None:
    async with worker() as stage:
        stage.own_queue.put(own_delivery(work(0)))
        stage.queue.put(delivery(work(1)))
        results = {result.work_item_id: result for result in await stage.results(2)}
        assert (results["r1.0"].origin, results["r1.1"].origin) == ("direct", None)
        assert all(result.success for result in results.values())
        assert own_words_of(stage) == lane_words_of(stage) == [b"+ACK"]


async def test_a_refusal_of_work_by_name_is_marked_too(autojump_clock: MockClock) -> None:
    async with worker() as stage:
        stage.own_queue.put(own_delivery(work(0, text="x"), 1))
        stage.own_queue.put(own_delivery(_foreign(), 2))
        results = {result.work_item_id: result for result in await stage.results(2)}
        assert (results["r1.1"].error_code, results["r1.1"].origin) == ("MODEL_NOT_FOUND", "direct")


async def test_the_pools_copy_of_what_runs_here_by_name_is_answered_by_the_same_run(autojump_clock: MockClock) -> None:
    backend = Noting()
    async with worker(backend, preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.own_queue.put(own_delivery(work(0)))
        await until(lambda: backend.texts == ["hello"])
        stage.queue.put(delivery(work(0), 7))
        await until(lambda: bool(own_words_of(stage)))
        assert settled(own_words_of(stage)) == [b"+ACK"]
        await trio.sleep(2 * RENEW_AFTER_S)
        assert lane_words_of(stage)[0] == b"+WPI"
        (result,) = await stage.results(1)
        assert (result.success, result.origin) == (True, None)
        assert settled(lane_words_of(stage)) == [b"+ACK"]
        assert backend.texts == ["hello"]


async def test_what_comes_by_name_while_the_pools_copy_is_held_is_acked_at_once(autojump_clock: MockClock) -> None:
    backend = Noting()
    async with worker(backend, preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work(0), 7))
        await until(lambda: backend.texts == ["hello"])
        stage.own_queue.put(own_delivery(work(0)))
        await until(lambda: own_words_of(stage) == [b"+ACK"])
        (result,) = await stage.results(1)
        assert result.origin is None
        assert settled(lane_words_of(stage)) == [b"+ACK"]
        assert backend.texts == ["hello"]


async def test_a_lost_own_queue_is_ensured_again_and_takes_no_lease_of_the_lanes(autojump_clock: MockClock) -> None:
    async with worker(Noting(), preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work(0)))
        stage.own_queue.put(own_delivery(work(1)))
        await until(lambda: stage.status().pending_items == 2)
        stage.own_queue.lose()
        await until(lambda: stage.own_queue.ensured == 2)
        assert stage.queue.ensured == 1
        await stage.results(2)
        assert (settled(lane_words_of(stage)), settled(own_words_of(stage))) == ([b"+ACK"], [])
        stage.own_queue.put(own_delivery(work(2), 2))
        await stage.results(3)
        assert settled(own_words_of(stage)) == [b"+ACK"]


async def test_a_worker_whose_own_queue_cannot_be_made_serves_its_lane(autojump_clock: MockClock) -> None:
    async with worker(preload=(MODEL,)) as stage:
        stage.own_queue.failures += [ReplyTimeout("no leader")] * 1000
        await stage.until_ready()
        stage.queue.put(delivery(work(0)))
        (result,) = await stage.results(1)
        assert result.success
        assert stage.own_queue.failures


async def test_both_queues_share_what_there_is_of_room(autojump_clock: MockClock) -> None:
    async with worker(Noting(), preload=(MODEL,)) as stage:
        await stage.until_ready()
        half = FULL_ITEMS // 2
        stage.queue.put(*(delivery(work(n), n + 1) for n in range(half)))
        await until(lambda: not stage.queue.buffered)
        stage.own_queue.put(*(own_delivery(work(n), n + 1) for n in range(half, FULL_ITEMS)))
        await until(lambda: not stage.own_queue.buffered)
        await trio.sleep(1)
        assert stage.own_queue.left == 1
        stage.own_queue.put(own_delivery(work(998), 998))
        stage.queue.put(delivery(work(999), 999))
        await until(lambda: not stage.queue.buffered)  # one pull was open, and brings what it brings
        stage.queue.put(delivery(work(1000), 1000))
        await trio.sleep(10)
        assert (len(stage.queue.buffered), len(stage.own_queue.buffered)) == (1, 1)
        assert stage.queue.left == 1


def _foreign() -> WorkItem:
    return attrs.evolve(work(1), model_id="acme/unknown")
