"""The whole worker at the gate (§2, §16.3): what was admitted to a pool of others never reaches its device."""

import attrs
import trio
from trio.testing import MockClock

from sie.wire.ipc import EncodeBatch, Finished, LoadModel
from sie.wire.pool_listing import ListedPool
from sie.wire.work import WorkItem
from sie.worker.core.accept import POOL_NAK_S
from sie.worker.core.gate import TRUST_S
from sie.worker.gate import LEAST_S, POLL_S
from tests.worker.doubles import MODEL, OTHER, WORKER, Peer, delivery, work
from tests.worker.stage import ScriptedPools, Stage, until, words_of, worker

OURS = ListedPool("acme", workers=frozenset({"w0", WORKER}))
THEIRS = attrs.evolve(OURS, workers=frozenset({"w0"}))
NAKED = b'-NAK {"delay": %d}' % (POOL_NAK_S * 1e9)


def tenant_work(number: int = 0) -> WorkItem:
    return attrs.evolve(work(number, text=f"t{number}"), admission_pool="acme")


async def test_work_of_a_pool_that_assigns_this_worker_is_run(autojump_clock: MockClock) -> None:
    async with worker(pools=ScriptedPools((OURS,))) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(tenant_work()))
        (result,) = await stage.results(1)
        assert (result.success, result.worker_id) == (True, WORKER)
        assert words_of(stage) == {1: [b"+ACK"]}


async def test_work_of_a_pool_of_others_goes_back_for_a_while_and_the_rest_is_run(
    autojump_clock: MockClock,
) -> None:
    batches: list[EncodeBatch] = []

    async def record(peer: Peer) -> None:
        async def on_batch(batch: EncodeBatch) -> None:
            batches.append(batch)

        await peer.serve(on_batch)

    async with worker(record, pools=ScriptedPools((THEIRS,))) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(tenant_work(0), 1), delivery(work(1, text="own"), 2), delivery(tenant_work(2), 3))
        await until(lambda: len(words_of(stage)) == 3)
        assert words_of(stage) == {1: [NAKED], 2: [b"+ACK"], 3: [NAKED]}
    assert [item.item for batch in batches for item in batch.items] == [{"text": "own"}]


async def test_without_a_gateway_tenants_work_goes_back_and_the_default_pools_is_run(autojump_clock: MockClock) -> None:
    async with worker() as stage:
        await stage.until_ready()
        stage.queue.put(delivery(tenant_work(0), 1), delivery(work(1), 2))
        await until(lambda: len(words_of(stage)) == 2)
        assert words_of(stage) == {1: [NAKED], 2: [b"+ACK"]}


async def test_a_gateway_that_is_away_closes_tenants_pools_and_leaves_the_default_one_open(
    autojump_clock: MockClock,
) -> None:
    pools = ScriptedPools((OURS,))
    async with worker(pools=pools) as stage:
        await stage.until_ready()
        pools.is_away = True
        await trio.sleep(TRUST_S - POLL_S)
        stage.queue.put(delivery(tenant_work(0), 1))
        await until(lambda: len(words_of(stage)) == 1)
        await trio.sleep(2 * POLL_S)
        stage.queue.put(delivery(tenant_work(1), 2), delivery(work(2), 3))
        await until(lambda: len(words_of(stage)) == 3)
        assert words_of(stage) == {1: [b"+ACK"], 2: [NAKED], 3: [b"+ACK"]}


async def test_work_for_a_pool_that_is_not_known_has_the_pools_read_again_soon(autojump_clock: MockClock) -> None:
    pools = ScriptedPools()
    async with worker(pools=pools) as stage:
        await stage.until_ready()
        await until(lambda: len(pools.reads_s) == 3)
        await trio.sleep(LEAST_S)
        pools.known = (OURS,)
        stage.queue.put(delivery(tenant_work(), 1))
        await until(lambda: len(pools.reads_s) == 4)
        assert pools.reads_s[3] - pools.reads_s[2] < POLL_S / 2
        stage.queue.put(delivery(tenant_work(), 1, deliveries=2))
        await stage.results(1)


async def load_on_the_word(peer: Peer, word: trio.Event) -> None:
    await peer.greet()
    request = await peer.hear()
    assert isinstance(request, LoadModel)
    await word.wait()
    await peer.say(Finished(id=request.id))
    await trio.sleep_forever()


async def test_what_waits_goes_back_when_its_pool_leaves_this_worker(autojump_clock: MockClock) -> None:
    pools, word = ScriptedPools((OURS,)), trio.Event()

    async def script(peer: Peer) -> None:
        await load_on_the_word(peer, word)

    async with worker(script, pools=pools) as stage:
        await until(lambda: stage.queue.ensured == 1)
        stage.queue.put(delivery(tenant_work(0), 1), delivery(work(1), 2))
        await until(lambda: stage.queue.buffered == [])
        await trio.sleep(2 * POLL_S)
        assert words_of(stage).get(1) in ([b"+WPI"], [b"+WPI"] * 2)
        pools.known = (THEIRS,)
        await until(lambda: NAKED in words_of(stage)[1])
        assert NAKED not in words_of(stage).get(2, [])
        await until(lambda: stage.status().pending_items == 1)


def states(stage: Stage) -> dict[str, str]:
    return {model.serving_id: model.state for model in stage.status().models}


async def test_what_a_pool_pins_is_loaded_by_the_workers_that_it_assigns_and_they_are_ready_meanwhile(
    autojump_clock: MockClock,
) -> None:
    pools, word = ScriptedPools((attrs.evolve(OURS, pinned=(OTHER, "acme/unknown")),)), trio.Event()

    async def script(peer: Peer) -> None:
        await load_on_the_word(peer, word)

    async with worker(script, pools=pools) as stage:
        await until(lambda: bool(stage.bus.heartbeats()) and states(stage).get(OTHER) == "loading")
        await stage.until_ready()
        word.set()
        await until(lambda: states(stage)[OTHER] == "loaded")
        assert states(stage)[MODEL] == "available"


async def test_what_a_pool_of_others_pins_is_not_loaded_until_it_assigns_this_worker(autojump_clock: MockClock) -> None:
    pools = ScriptedPools((attrs.evolve(THEIRS, pinned=(OTHER,)),))
    async with worker(pools=pools) as stage:
        await stage.until_ready()
        await trio.sleep(3 * POLL_S)
        assert states(stage)[OTHER] == "available"
        pools.known = (attrs.evolve(OURS, pinned=(OTHER,)),)
        await until(lambda: states(stage)[OTHER] == "loaded")


async def test_a_queue_pool_of_its_own_is_pulled_from_once_a_gateway_has_told_that_it_is_free(
    autojump_clock: MockClock,
) -> None:
    pools = ScriptedPools((ListedPool("static", "static"),), is_away=True)
    async with worker(pool="static", pools=pools) as stage:
        await until(lambda: stage.queue.ensured == 1)
        await trio.sleep(10 * POLL_S)
        assert stage.queue.opened == 0
        pools.is_away = False
        await until(lambda: stage.queue.opened == 1)
        pools.is_away = True
        await trio.sleep(2 * TRUST_S)
        assert stage.queue.left == 0


async def test_a_worker_leaves_its_own_capped_queue_pool_when_that_no_longer_assigns_it(
    autojump_clock: MockClock,
) -> None:
    capped = ListedPool("static", "static", {"default": 1}, frozenset({WORKER}))
    pools = ScriptedPools((capped,))
    async with worker(pool="static", pools=pools) as stage:
        await until(lambda: stage.queue.opened == 1)
        pools.known = (attrs.evolve(capped, workers=frozenset({"w0"})),)
        await trio.sleep(2 * POLL_S)
        stage.queue.put(delivery(work(0), 1))
        await until(lambda: stage.queue.left == 1)
        await trio.sleep(10 * POLL_S)
        assert stage.queue.opened == 1
