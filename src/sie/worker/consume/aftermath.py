"""What becomes of a batch after its run (§2, §8): it is told, or tried again in a better way.

Items that were with a child when it died run alone from then on, so that only the guilty one is blamed. Those for which
memory was not enough run once more when idle models have left. Those whose model has left go back to the queue.
"""

from collections.abc import Callable
from typing import Protocol

import attrs

from sie.wire.ipc import Finished
from sie.worker.children import Child
from sie.worker.consume.burial import Burial
from sie.worker.consume.crash_book import CrashBook
from sie.worker.core.exhausted import OOM_NAK_S, decide_exhausted, part_of, split_exhausted
from sie.worker.core.flights import MAX_DEATHS, Answer, Crashed, Left, given_up
from sie.worker.core.held_work import Held, HeldWork
from sie.worker.core.results import encode_item
from sie.worker.core.state import WorkerState

Batch = tuple[Held, ...]


class Desk(Protocol):
    """Where items end."""

    def keep_runnable(self, batch: Batch) -> Batch:
        """Those that may still run as they are; the others are done with."""
        ...

    def tell(self, batch: Batch, answer: Answer, under: str) -> None: ...

    def give_back(self, held: Held, delay_s: float) -> None: ...


@attrs.frozen(kw_only=True)
class Aftermath:
    """`changed` is called when the state is new, as it is when idle models leave."""

    state: WorkerState
    held_work: HeldWork
    child: Child
    burial: Burial
    crashes: CrashBook
    changed: Callable[[], None]

    async def settle(self, desk: Desk, batch: Batch, answer: Answer, under: str) -> None:
        """`under` is the hash of the configuration that the batch ran by."""
        match answer:
            case Crashed():
                await self._blame(desk, batch)
            case Left():
                for held in batch:
                    desk.give_back(held, 0.0)
            case Finished() if len(answer.outcomes) == len(batch):
                await self._settle_finished(desk, batch, answer, under)
            case _:
                desk.tell(batch, answer, under)

    async def run_alone(self, desk: Desk, batch: Batch) -> None:
        """One after the other, each with nothing beside it."""
        for held in batch:
            for one in desk.keep_runnable((held,)):
                under = self.state.config_hash
                answer = await self._encode((one,), alone=True)
                if not isinstance(answer, Crashed | Left):
                    await self.crashes.forget(one.key)
                await self.settle(desk, (one,), answer, under)

    async def _blame(self, desk: Desk, batch: Batch) -> None:
        await self.crashes.record(held.key for held in batch)
        for held in batch:
            if self.crashes.crashes.count(held.key) < MAX_DEATHS:
                await self.run_alone(desk, (held,))
            else:
                await self._give_up(desk, held)

    async def _give_up(self, desk: Desk, held: Held) -> None:
        answer = given_up(held.work.work_item_id)
        await self.burial.file((held,), answer)
        desk.tell((held,), answer, self.state.config_hash)
        await self.crashes.forget(held.key)

    async def _settle_finished(self, desk: Desk, batch: Batch, answer: Finished, under: str) -> None:
        split = split_exhausted(answer)
        if split.settled:
            desk.tell(tuple(batch[place] for place in split.settled), part_of(answer, split.settled), under)
        if split.exhausted:
            short = tuple(batch[place] for place in split.exhausted)
            await self._make_room(desk, short, part_of(answer, split.exhausted), under)

    async def _make_room(self, desk: Desk, batch: Batch, answer: Finished, under: str) -> None:
        idle = self.state.models.take_idle(_model(batch), self.held_work.oldest())
        if not idle:
            self._end_exhausted(desk, batch, answer, under)
            return
        self.changed()
        for serving_id in idle:
            await self.child.unload(serving_id)
        again = desk.keep_runnable(batch)
        if again:
            under = self.state.config_hash
            await self._settle_again(desk, again, await self._encode(again), under)

    async def _settle_again(self, desk: Desk, batch: Batch, answer: Answer, under: str) -> None:
        if not isinstance(answer, Finished) or len(answer.outcomes) != len(batch):
            await self.settle(desk, batch, answer, under)
            return
        split = split_exhausted(answer)
        desk.tell(tuple(batch[place] for place in split.settled), part_of(answer, split.settled), under)
        short = tuple(batch[place] for place in split.exhausted)
        self._end_exhausted(desk, short, part_of(answer, split.exhausted), under)

    def _end_exhausted(self, desk: Desk, batch: Batch, answer: Finished, under: str) -> None:
        for place, held in enumerate(batch):
            has_company = self.state.models.has_company(_model(batch))
            match decide_exhausted(deliveries=held.delivery.deliveries, has_company=has_company):
                case "again":
                    desk.give_back(held, OOM_NAK_S)
                case "tell":
                    desk.tell((held,), part_of(answer, (place,)), under)

    async def _encode(self, batch: Batch, *, alone: bool = False) -> Answer:
        items = tuple(encode_item(held.work) for held in batch)
        return await self.child.encode(_model(batch), items, alone=alone)


def _model(batch: Batch) -> str:
    return batch[0].candidate.serving_id
