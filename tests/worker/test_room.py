"""A device that does not hold all models: the least recently used leaves, some stay, and who has no room is told."""

from collections.abc import Callable, Iterable

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.wire.heartbeat import decode_heartbeat
from sie.wire.ipc import EncodeBatch, Failed, Finished, ItemOutcome, LoadModel, UnloadModel
from sie.wire.work import WorkItem
from tests.worker.doubles import MODEL, OTHER, Peer, delivery, finished, work
from tests.worker.stage import ScriptedPools, Stage, until, words_of, worker
from tests.worker.test_following import Writable, tell
from tests.worker.test_pools import OURS

SIZE = 100
NAMES = (MODEL, f"{MODEL}:fast", OTHER, f"{OTHER}:fast")
Outcomes = Callable[["Device", EncodeBatch], Finished]


def well(_: "Device", batch: EncodeBatch) -> Finished:
    return finished(batch)


@attrs.define(eq=False)
class Device:
    """Children that refuse what does not fit, and note what they are told. Every model takes SIZE."""

    run: Outcomes = well
    size: int = SIZE
    load_s: float = 1.0
    batch_s: float = 0.1
    there: set[str] = attrs.field(factory=set)
    most: int = 0
    loads: list[str] = attrs.field(factory=list)
    unloads: list[str] = attrs.field(factory=list)
    batches: list[tuple[str, int]] = attrs.field(factory=list)

    async def serve(self, peer: Peer) -> None:
        self.there.clear()
        await peer.greet()
        while (request := await peer.hear()) is not None:
            match request:
                case LoadModel():
                    await trio.sleep(self.load_s)
                    await peer.say(self.load(request))
                case UnloadModel(serving_id=serving_id):
                    await trio.sleep(0.2)
                    self.unloads.append(serving_id)
                    self.there.discard(serving_id)
                    await peer.say(Finished(id=request.id))
                case EncodeBatch(serving_id=serving_id):
                    assert serving_id in self.there
                    await trio.sleep(self.batch_s)
                    self.batches.append((serving_id, len(request.items)))
                    await peer.say(self.run(self, request))
                case other:
                    raise AssertionError(f"{other} is not for a child")

    def load(self, request: LoadModel) -> Finished | Failed:
        if request.room_bytes is not None and self.size > request.room_bytes:
            failed = Failed(id=request.id, error_code="MODEL_LOAD_FAILED", error="no room", permanent=False)
            return attrs.evolve(failed, error_class="OOM", memory_bytes=self.size)
        self.loads.append(request.serving_id)
        self.there.add(request.serving_id)
        self.most = max(self.most, len(self.there))
        return Finished(id=request.id, memory_bytes=self.size)


def asks(names: Iterable[str], first: int = 0) -> list[WorkItem]:
    return [attrs.evolve(work(first + n), model_id=name) for n, name in enumerate(names)]


def put(stage: Stage, *items: WorkItem) -> None:
    stage.queue.put(*(delivery(item, item.item_index + 1) for item in items))


def states(stage: Stage) -> dict[str, str]:
    return {model.serving_id: model.state for model in stage.status().models}


async def test_four_models_are_served_where_two_fit(autojump_clock: MockClock) -> None:
    device = Device()
    async with worker(device.serve, memory_bytes=2 * SIZE) as stage:
        put(stage, *asks(NAMES * 5))
        results = await stage.results(20)
        assert all(result.success for result in results)
        assert stage.status().memory_total_bytes == 2 * SIZE
        assert stage.status().memory_used_bytes <= 2 * SIZE
    assert device.most == 2
    assert sorted(device.loads) == sorted(NAMES), "one swap is enough for all that waits"


async def test_the_least_recently_used_leaves_and_each_step_is_told(autojump_clock: MockClock) -> None:
    """Expectation 22."""
    device = Device()
    async with worker(device.serve, memory_bytes=2 * SIZE) as stage:
        for number, name in enumerate((NAMES[0], NAMES[1], NAMES[0], NAMES[2])):
            put(stage, *asks([name], number))
            await stage.results(number + 1)
            await trio.sleep(1)
        assert device.unloads == [NAMES[1]]
        assert states(stage) == {NAMES[0]: "loaded", NAMES[1]: "available", NAMES[2]: "loaded", NAMES[3]: "available"}
        told = [model.state for beat in stage.bus.heartbeats() for model in decode_heartbeat(beat).models]
        assert {"available", "loading", "loaded", "unloading"} == set(told)
        assert [model.memory_bytes for model in stage.status().models] == [SIZE, 0, SIZE, 0]


async def test_a_preloaded_model_stays_and_what_cannot_fit_beside_it_is_told(autojump_clock: MockClock) -> None:
    """Expectation 22."""
    device = Device()
    async with worker(device.serve, preload=(MODEL,), memory_bytes=SIZE + 1) as stage:
        await stage.until_ready()
        put(stage, *asks([OTHER]))
        (refused,) = await stage.results(1)
        assert (refused.error_code, refused.error_class) == ("MODEL_LOAD_FAILED", "OOM")
        assert (refused.permanent, refused.attempts, refused.retry_after_s) == (False, 1, 60)
        assert device.there == {MODEL}
        put(stage, *asks([MODEL], 1))
        assert (await stage.results(2))[1].success


async def test_a_pinned_model_stays_while_others_take_turns_beside_it(autojump_clock: MockClock) -> None:
    """Expectation 22."""
    device, pools = Device(), ScriptedPools((attrs.evolve(OURS, pinned=(OTHER,)),))
    async with worker(device.serve, pools=pools, memory_bytes=2 * SIZE) as stage:
        await until(lambda: bool(stage.bus.heartbeats()) and states(stage).get(OTHER) == "loaded")
        others = [name for name in NAMES if name != OTHER]
        put(stage, *asks(others * 3))
        assert all(result.success for result in await stage.results(9))
        assert states(stage)[OTHER] == "loaded"
    assert device.loads[0] == OTHER
    assert OTHER not in device.unloads
    assert len(device.unloads) == 2


async def test_a_model_with_older_work_keeps_its_place_until_that_has_run(autojump_clock: MockClock) -> None:
    device = Device(batch_s=5.0)
    async with worker(device.serve, memory_bytes=SIZE) as stage:
        put(stage, *asks([MODEL] * 3 + [OTHER] + [MODEL]))
        results = await stage.results(5)
    assert all(result.success for result in results)
    assert device.loads[:2] == [MODEL, OTHER]
    assert device.batches[0][0] == MODEL
    assert sum(count for name, count in device.batches if name == MODEL) == 4


def runs_out(while_there: int) -> Outcomes:
    def run(device: Device, batch: EncodeBatch) -> Finished:
        if len(device.there) < while_there:
            return finished(batch)
        short = ItemOutcome(error_code="RESOURCE_EXHAUSTED", error="out of memory")
        first, *rest = finished(batch).outcomes
        return Finished(id=batch.id, outcomes=(first, *(short for _ in rest)))

    return run


async def test_what_runs_out_of_memory_is_run_again_when_idle_models_have_left(autojump_clock: MockClock) -> None:
    device = Device(run=runs_out(while_there=2))
    async with worker(device.serve) as stage:
        put(stage, *asks([OTHER]))
        await stage.results(1)
        put(stage, *asks([MODEL] * 3, 1))
        results = await stage.results(4)
        assert all(result.success for result in results)
    assert device.unloads == [OTHER]
    assert device.batches[-1] == (MODEL, 2), "those that had run are not run again"


async def test_what_still_runs_out_of_memory_is_told_and_the_worker_stays_ready(autojump_clock: MockClock) -> None:
    """Expectation 20."""
    device = Device(run=runs_out(while_there=1))
    async with worker(device.serve) as stage:
        put(stage, *asks([MODEL] * 2))
        _, short = await stage.results(2)
        assert (short.error_code, short.retry_after_s) == ("RESOURCE_EXHAUSTED", 5)
        assert stage.status().ready
        assert words_of(stage) == {1: [b"+ACK"], 2: [b"+ACK"]}
        put(stage, *asks([MODEL], 2))
        assert (await stage.results(3))[2].success


async def test_where_others_use_the_device_it_comes_again_once(autojump_clock: MockClock) -> None:
    device = Device(run=runs_out(while_there=2))
    async with worker(device.serve, preload=(OTHER,)) as stage:
        await stage.until_ready()
        put(stage, *asks([MODEL] * 2))
        await until(lambda: len(stage.bus.words()) == 2)
        assert words_of(stage) == {1: [b"+ACK"], 2: [b'-NAK {"delay": 10000000000}']}
        stage.queue.put(delivery(work(1), 2, deliveries=2), delivery(work(2), 3, deliveries=2))
        results = await stage.results(3)
        assert [result.error_code for result in results].count("RESOURCE_EXHAUSTED") == 1


async def test_a_model_that_is_taken_away_leaves_the_device(autojump_clock: MockClock) -> None:
    device, authority = Device(), Writable()
    async with worker(device.serve, authority=authority) as stage:
        put(stage, *asks([MODEL]))
        await stage.results(1)
        authority.write(MODEL, None)
        tell(stage)
        await until(lambda: device.unloads == [MODEL])
    assert device.there == set()


@pytest.mark.parametrize("memory_bytes", [SIZE - 1, 1])
async def test_a_model_that_never_fits_is_told_so_at_once(autojump_clock: MockClock, memory_bytes: int) -> None:
    device = Device()
    async with worker(device.serve, memory_bytes=memory_bytes) as stage:
        put(stage, *asks([MODEL]))
        (refused,) = await stage.results(1)
        assert refused.error_class == "OOM"
        assert str(SIZE) in (refused.error or "")
        await until(lambda: states(stage)[MODEL] == "failed")
    assert device.loads == []
