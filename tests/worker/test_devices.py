"""A worker of several devices: a child each, a model on one of them, and moved where that does not come up (§15.1)."""

import attrs
import trio
from trio.testing import MockClock

from tests.worker.doubles import MODEL, OTHER, Peer, delivery, work
from tests.worker.stage import Stage, until, worker
from tests.worker.test_room import NAMES, SIZE, Device, asks, put, states


@attrs.define(eq=False)
class Rack:
    """Children are made as they are launched; those at the places of `broken` end before they say a word."""

    devices: list[Device] = attrs.field(factory=list)
    broken: set[int] = attrs.field(factory=set)
    dying: trio.Event = attrs.field(factory=trio.Event)

    async def serve(self, peer: Peer) -> None:
        number = len(self.devices)
        self.devices.append(Device())
        if number in self.broken:
            return
        if number == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.devices[0].serve, peer)
                await self.dying.wait()
                nursery.cancel_scope.cancel()
        else:
            await self.devices[number].serve(peer)

    def there(self) -> list[set[str]]:
        return [device.there for device in self.devices]


async def until_all_are_up(stage: Stage, rack: Rack) -> None:
    await until(lambda: len(rack.devices) == 2 and stage.launch.launched == 2)
    await trio.sleep(1)


async def test_models_are_spread_over_the_devices_and_stay_there(autojump_clock: MockClock) -> None:
    rack = Rack()
    async with worker(rack.serve, device="cpu:2", memory_bytes=2 * SIZE) as stage:
        await until_all_are_up(stage, rack)
        put(stage, *asks(NAMES * 3))
        results = await stage.results(12)
        assert all(result.success for result in results)
        assert [len(there) for there in rack.there()] == [2, 2]
        assert set().union(*rack.there()) == set(NAMES)
        status = stage.status()
        assert (status.gpu_count, status.memory_used_bytes, status.memory_total_bytes) == (2, 4 * SIZE, 4 * SIZE)
    assert sorted(name for device in rack.devices for name in device.loads) == sorted(NAMES)


async def test_devices_run_beside_each_other(autojump_clock: MockClock) -> None:
    rack = Rack()
    async with worker(rack.serve, device="cpu:2", memory_bytes=SIZE, preload=(MODEL, OTHER)) as stage:
        await stage.until_ready()
        for device in rack.devices:
            device.batch_s = 100.0
        began = trio.current_time()
        put(stage, *asks([MODEL, OTHER]))
        await stage.results(2)
        assert trio.current_time() - began < 150


async def test_the_models_of_a_device_that_does_not_come_up_again_move_to_another(autojump_clock: MockClock) -> None:
    rack = Rack(broken={*range(2, 50)})
    async with worker(rack.serve, device="cpu:2", memory_bytes=2 * SIZE, preload=(MODEL, OTHER)) as stage:
        await until(lambda: len(rack.devices) == 2 and [len(there) for there in rack.there()] == [1, 1])
        (lost,) = rack.there()[0]
        rack.dying.set()
        await until(lambda: lost in rack.there()[1])
        put(stage, *asks([lost]))
        assert (await stage.results(1))[0].success
        assert states(stage)[lost] == "loaded"
        assert stage.status().ready


async def test_work_that_was_with_a_device_that_went_is_not_lost(autojump_clock: MockClock) -> None:
    rack = Rack(broken={*range(2, 50)})
    async with worker(rack.serve, device="cpu:2", memory_bytes=2 * SIZE, preload=(MODEL, OTHER)) as stage:
        await until(lambda: len(rack.devices) == 2 and [len(there) for there in rack.there()] == [1, 1])
        (lost,) = rack.there()[0]
        rack.devices[0].batch_s = 1000.0
        put(stage, *asks([lost] * 3))
        await trio.sleep(1)
        rack.dying.set()
        await until(lambda: len(stage.bus.words()) == 3)
        for seq, word in stage.bus.words():
            if word != b"+ACK":
                stage.queue.put(delivery(attrs.evolve(work(seq - 1), model_id=lost), seq, deliveries=2))
        results = await stage.results(3)
        assert {result.item_index for result in results if result.success} == {0, 1, 2}
