"""When batches go to the backend and what is in them (§16.2), in the whole worker on a clock that jumps."""

from collections.abc import Awaitable, Callable

import attrs
import trio
import trio.testing

from sie.wire.ipc import EncodeBatch
from tests.worker.doubles import Peer, Script, delivery, work
from tests.worker.stage import Stage, until, worker

Clock = trio.testing.MockClock
BATCH_S = 10.0


@attrs.define
class Seen:
    """The batches that the backend got, by their texts, and when."""

    batches: list[list[object]] = attrs.field(factory=list)
    at_s: list[float] = attrs.field(factory=list)

    def script(self) -> Script:
        async def play(peer: Peer) -> None:
            await peer.serve(self.on_batch())

        return play

    def on_batch(self) -> Callable[[EncodeBatch], Awaitable[None]]:
        async def see(batch: EncodeBatch) -> None:
            self.batches.append([item.item["text"] for item in batch.items])
            self.at_s.append(trio.current_time())
            await trio.sleep(BATCH_S)

        return see


async def ask(stage: Stage, number: int, *, request: str | None = None, text: str | None = None) -> None:
    item = attrs.evolve(work(number, text=text or f"r{number}"), request_id=request or f"r{number}")
    stage.queue.put(delivery(attrs.evolve(item, work_item_id=f"{item.request_id}.{number}"), seq=number + 1))


async def test_a_lone_item_goes_at_once(autojump_clock: Clock) -> None:
    seen = Seen()
    async with worker(seen.script()) as stage:
        for number in range(4):
            asked_s = trio.current_time()
            await ask(stage, number)
            await stage.results(number + 1)
            assert number == 0 or seen.at_s[-1] == asked_s
            await trio.sleep(100)


async def test_what_comes_while_the_backend_computes_is_one_batch_that_it_has_before_it_is_idle(
    autojump_clock: Clock,
) -> None:
    seen = Seen()
    async with worker(seen.script()) as stage:
        for number in range(3):  # so that it is known how long a batch takes
            await ask(stage, number)
            await stage.results(number + 1)
        for number in range(3, 8):
            await ask(stage, number)
            await trio.sleep(1)
        await stage.results(8)
    assert seen.batches[3:] == [["r3"], ["r4", "r5", "r6", "r7"]]
    assert seen.at_s[4] == seen.at_s[3] + BATCH_S


async def test_a_single_item_does_not_wait_for_the_bulk_that_came_before_it(autojump_clock: Clock) -> None:
    seen = Seen()
    async with worker(seen.script()) as stage:
        for number in range(150):
            await ask(stage, number, request="bulk", text="some nine of which are a batch of their own" * 3)
        await until(lambda: bool(seen.batches))
        await ask(stage, 150)
        await stage.results(151)
    (place,) = (place for place, batch in enumerate(seen.batches) if "r150" in batch)
    assert place <= 2, "at most the one that computes and the one that is with the backend are before it"
    assert len(seen.batches) > 10
