"""Steps that belong together: what hurts only in a certain order is drawn in that order, and shrinks like any.

A write while its disk fails, a key that is used again after its write was undone, deltas while an export is read.
"""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing.cluster.catalogue import ADDED, ASIDE, SIDE, SIDE_TOO, SMALL
from sie.testing.cluster.client import Ask
from sie.testing.cluster.writes import Read, Verb, Write
from sie.testing.faults_config import (
    ConfigDiesInCall,
    DiskAnswerLost,
    DiskLate,
    DiskSlow,
    PowerCut,
    RivalWrites,
    StoreRolledBack,
)
from sie.testing.faults_convergence import (
    AuthorityAway,
    DeltasLost,
    DeltasReordered,
    DeltasRepeated,
    ExportFails,
    ExportSpoiled,
)
from sie.testing.faults_kind import Fault
from sie.testing.faults_serving import (
    AuthoritySlow,
    ChildSlow,
    LoadFails,
    Partition,
    ProcessKilled,
    ProcessStopped,
    WorkerMessagesLost,
)
from sie.testing.simulation.steps import Wait

Step = Ask | Write | Read | Wait | Fault
Scene = tuple[Step, ...]

MODELS = (SIDE, SIDE_TOO, ASIDE)
FOR_ALL_WORKERS = Ask(0, SMALL, 5, clients=16)
"""More items than one worker takes at once."""


def head_is_unclear(model: str, fault: Fault, verb: Verb) -> Scene:
    """Nobody tells at once what became of the second of three writes: the store does not, or whoever asks it dies."""
    write, look = Write("post", model), Read("export")
    return (write, Wait(0.1), fault, Write(verb, model), Wait(20.0), look, write)


def power_fails(model: str, down_s: float) -> Scene:
    unclear = DiskAnswerLost(0, 0, "unsynced")
    return (Write("post", model), unclear, Write("post", model), PowerCut(down_s), Wait(7.0), Read("export"))


def key_again(model: str, key: int, clients: int) -> Scene:
    """Its write was done, and then undone by another's."""
    keyed = Write("post", model, key=key, clients=clients)
    return (keyed, Wait(0.1), Write("delete", model), Wait(0.1), keyed, Write("put", model), Wait(0.1), keyed)


def rivals_write(model: str, for_s: float) -> Scene:
    mine, theirs = Write("post", model), Write("post", model, config=1)
    return (RivalWrites(for_s), Wait(1.0), mine, Wait(0.1), theirs, Wait(0.1), theirs, mine, Wait(0.1), mine)


def export_within_a_write(model: str, verb: Verb) -> Scene:
    """Each call to the disk takes half a second, and a write has several."""
    reads = (Read("export"), Wait(0.1)) * 5
    return (DiskSlow(0.5, 10.0), Write(verb, model), Wait(1.0), *reads)


def delta_within_a_catch_up(gateway: int, by_s: float) -> Scene:
    """The second delta tells that one was missed; the third comes while the export is read."""
    missed, write = Write("post", SIDE), Write("post", SIDE_TOO)
    looks = (Wait(0.1), Read("replica", gateway)) * 3
    begun = (DeltasLost(gateway, 1), AuthoritySlow(gateway, by_s, 10.0), missed, Wait(0.1), write)
    return (*begun, Wait(1.0), write, Wait(0.1), write, Wait(1.0), *looks, Wait(1.0), *looks)


def refused_delta(model: str, gateway: int) -> Scene:
    away, replaced = AuthorityAway(gateway, 8.0), Write("put", model, "conflict")
    return (Write("put", model), Wait(1.0), away, replaced, Wait(0.1), Read("replica", gateway))


def export_in_part(model: str, gateway: int, times: int) -> Scene:
    lost = DeltasLost(gateway, 1)
    return (Write("post", model), Wait(1.0), lost, ExportSpoiled(gateway, times), Write("put", model), Wait(20.0))


def step_back_fails(model: str, gateway: int, times: int) -> Scene:
    write, back = Write("post", model), StoreRolledBack(1)
    looks = (Wait(7.0), Read("replica", gateway)) * 5
    return (write, Wait(0.1), write, Wait(0.1), write, Wait(1.0), back, ExportFails(gateway, times), *looks)


def out_of_order(model: str, gateway: int, count: int) -> Scene:
    write = Write("post", model)
    return (DeltasReordered(gateway, count), *(write, Wait(0.1)) * count, Read("replica", gateway))


def old_delta_again(model: str, gateway: int) -> Scene:
    """The first of two writes is told once more after the second."""
    write, look = Write("post", model), Read("replica", gateway)
    return (DeltasRepeated(gateway, 1, 1.0), write, Wait(0.1), write, Wait(0.1), look, Wait(1.0), look)


def outbox_fills(for_s: float, bursts: int) -> Scene:
    """A gateway that has the stream goes on taking requests while nothing of it reaches the broker."""
    return (Ask(0, SMALL, 1), Wait(1.0), Partition(0, for_s), *(Ask(0, SMALL, 5, clients=32),) * bursts, Wait(7.0))


def nobody_is_heard(gateway: int, beats: int) -> Scene:
    """Every worker runs, and is silent for longer than a gateway goes by its last heartbeat; then it is heard again."""
    silent = (WorkerMessagesLost(0, "sie.health.", beats), WorkerMessagesLost(1, "sie.health.", beats))
    ask = Ask(gateway, SMALL, 2, clients=4)
    return (*silent, Wait(20.0), ask, Wait(45.0), ask)


def worker_falls_behind(process: int, model: str) -> Scene:
    """The lane's hash changes, and one of its workers does not hear of it."""
    asks = (Ask(0, SMALL, 3, clients=8), Wait(0.1)) * 4
    return (AuthorityAway(process, 45.0), Write("post", model), Wait(1.0), Wait(1.0), *asks)


def load_fails_for_good(workers: int) -> Scene:
    fails = tuple(LoadFails(worker, "permanent") for worker in range(workers))
    return (*fails, Wait(1.0), FOR_ALL_WORKERS, Wait(7.0), FOR_ALL_WORKERS)


def load_fails_and_passes(workers: int) -> Scene:
    """One that nobody has to help over it."""
    fails = tuple(LoadFails(worker, "temporary") for worker in range(workers))
    return (*fails, Wait(1.0), FOR_ALL_WORKERS, Wait(45.0), FOR_ALL_WORKERS)


def worker_comes_back_to_old_work(from_the_end: int, model: str) -> Scene:
    """What was queued under the lane's old hash waits for a worker that starts with the new one; workers come last."""
    asks = (Ask(0, SMALL, 3, clients=4),) * 2
    return (ProcessKilled(-from_the_end, 8.0), *asks, Wait(1.0), Write("post", model), Wait(20.0))


def configuration_changes_under_waiting_work(worker: int, model: str) -> Scene:
    """The child is slow, and the lane's hash changes meanwhile."""
    asks = (Ask(0, SMALL, 5, clients=16),) * 2
    return (ChildSlow(worker, 8.0, 20.0), *asks, Wait(0.1), Write("post", model), Wait(7.0))


def worker_stops_under_waiting_work(down_s: float) -> Scene:
    """Its child is slow, and there is more than it can have begun; workers come last."""
    asks = (Ask(0, SMALL, 5, clients=16),) * 2
    return (ChildSlow(-1, 8.0, 20.0), *asks, Wait(0.1), ProcessStopped(-1, down_s), Wait(7.0))


def clients_leave_waiting_work(leaves_after_s: float) -> Scene:
    """The children are slow, and nobody waits any more for what they cannot have begun."""
    asks = (Ask(0, SMALL, 5, clients=16),) * 2
    leaving = Ask(0, SMALL, 5, clients=16, leaves_after_s=leaves_after_s)
    return (ChildSlow(0, 8.0, 20.0), ChildSlow(1, 8.0, 20.0), *asks, Wait(0.1), leaving, Wait(20.0))


def scenes() -> SearchStrategy[Scene]:
    models, gateways = st.sampled_from(MODELS), st.sampled_from((0, 0, 1))
    verbs: SearchStrategy[Verb] = st.sampled_from(("post", "post", "put", "delete"))
    unclear = st.sampled_from(("answer lost", "never", "unsynced"))
    lost: SearchStrategy[Fault] = st.builds(DiskAnswerLost, st.just(0), st.just(0), unclear)
    late: SearchStrategy[Fault] = st.builds(DiskLate, st.just(0), st.just(0), st.sampled_from((0.5, 8.0)))
    ways = st.sampled_from(("dies before", "dies after"))
    dies: SearchStrategy[Fault] = st.builds(ConfigDiesInCall, st.just(0), st.integers(2, 8), ways)
    passes = st.builds(load_fails_and_passes, st.sampled_from((1, 2, 2)))
    kinds: tuple[SearchStrategy[Scene], ...] = (
        st.builds(head_is_unclear, models, lost, verbs),
        st.builds(head_is_unclear, models, late, verbs),
        st.builds(head_is_unclear, models, dies, verbs),
        st.builds(power_fails, models, st.sampled_from((0.5, 8.0))),
        st.builds(key_again, models, st.integers(1, 2), st.integers(1, 2)),
        st.builds(rivals_write, models, st.sampled_from((2.0, 20.0))),
        st.builds(export_within_a_write, models, verbs),
        st.builds(delta_within_a_catch_up, gateways, st.sampled_from((0.3, 0.5))),
        st.builds(refused_delta, models, gateways),
        st.builds(export_in_part, models, gateways, st.integers(1, 2)),
        st.builds(step_back_fails, models, gateways, st.integers(1, 2)),
        st.builds(outbox_fills, st.sampled_from((8.0, 45.0)), st.integers(3, 5)),
        st.builds(nobody_is_heard, gateways, st.integers(10, 12)),
        st.builds(worker_falls_behind, st.integers(1, 3), st.sampled_from((SMALL, ADDED))),
        st.builds(load_fails_for_good, st.integers(1, 2)),
        *[passes] * 2,  # a worker that does not get over it shows that only at rest, if it lives until then
        st.builds(worker_comes_back_to_old_work, st.integers(1, 2), st.sampled_from((SMALL, ADDED))),
        st.builds(configuration_changes_under_waiting_work, st.integers(0, 1), st.sampled_from((SMALL, ADDED))),
        st.builds(worker_stops_under_waiting_work, st.sampled_from((0.5, 8.0))),
        st.builds(clients_leave_waiting_work, st.sampled_from((0.5, 2.0))),
        st.builds(old_delta_again, models, gateways),
        st.builds(out_of_order, models, gateways, st.integers(2, 3)),
    )
    return st.sampled_from(range(len(kinds))).flatmap(kinds.__getitem__)
