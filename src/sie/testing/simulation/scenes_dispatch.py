"""Steps of dispatch that belong together: work for one worker that is away, inputs and results that fit no message.

The scenes of pools need several workers, and Kubernetes.
"""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing.cluster.catalogue import SIDE, SMALL
from sie.testing.cluster.client import Ask
from sie.testing.cluster.pool_calls import POOL_NAMES, PoolCall
from sie.testing.cluster.writes import Read, Write
from sie.testing.faults_dispatch import PayloadsFail, PayloadsGone, WorkerReplaced, WorkersCutOff
from sie.testing.faults_kind import Fault
from sie.testing.faults_serving import ChildSlow, WorkerMessagesLost
from sie.testing.simulation.steps import Wait

Scene = tuple[Ask | Write | Read | PoolCall | Wait | Fault, ...]
KNOWN_S = (Wait(7.0), Wait(7.0))
"""By then each worker has read of a new pool."""


def _pool(name: str) -> Scene:
    return (PoolCall("put", 0, name, cap=1, ttl_s=600), *KNOWN_S)


def one_worker_is_replaced(name: str, gateway: int, down_s: float, with_queue: bool = False) -> Scene:
    """Each in turn: one of them has the pool, and work for it is in its pool's queue before it is back."""
    ask = Ask(gateway, SMALL, 3, clients=2, pool=name)
    turns = ((WorkerReplaced(worker, down_s, with_queue), ask, *KNOWN_S) for worker in range(3))
    return (*_pool(name), ask, Wait(1.0), *(step for turn in turns for step in turn))


def pool_leaves_waiting_work(name: str, gateway: int, by_s: float) -> Scene:
    """The children are slow, and the pool that the work was admitted to ends meanwhile."""
    slow = tuple(ChildSlow(worker, by_s, 20.0) for worker in range(3))
    asks = (Ask(gateway, SMALL, 5, clients=8, pool=name),) * 2
    return (*_pool(name), *slow, *asks, Wait(0.1), PoolCall("delete", 0, name), *KNOWN_S)


def inputs_do_not_fit(gateway: int, fault: Fault) -> Scene:
    """The workers come back to work whose inputs lay in the store, and then the fault began."""
    ask = Ask(gateway, SMALL, 2, clients=2, size="long")
    return (ask, Wait(1.0), WorkersCutOff(2.0), ask, Wait(0.1), fault, ask, Wait(20.0), ask)


def results_do_not_fit(gateway: int, lost: int) -> Scene:
    """Some of their parts are lost with what else the worker sends."""
    ask = Ask(gateway, SMALL, 3, clients=2, size="big result")
    return (ask, Wait(1.0), WorkerMessagesLost(0, "_INBOX.gw-", lost), ask, Wait(7.0), ask)


def nobody_is_heard_for_long(gateway: int) -> Scene:
    """A client is told of no worker; then they are heard again, and nobody asks. Another waits for another lane."""
    silent = (WorkerMessagesLost(0, "sie.health.", 10), WorkerMessagesLost(1, "sie.health.", 10))
    return (*silent, *(Wait(20.0),) * 2, Ask(gateway, SMALL, 1), Ask(gateway, SIDE, 1), *(Wait(20.0),) * 3)


def wanted_and_met(gateway: int) -> Scene:
    """A client is told of no worker; then there is one, and work is queued for it."""
    return (*nobody_is_heard_for_long(gateway), Ask(gateway, SMALL, 1), Wait(7.0))


_gateways = st.sampled_from((0, 0, 1))


def dispatch_scenes() -> SearchStrategy[Scene]:
    faults: SearchStrategy[Fault] = st.sampled_from((PayloadsFail(0.5), PayloadsFail(8.0), PayloadsGone()))
    kinds: tuple[SearchStrategy[Scene], ...] = (
        st.builds(inputs_do_not_fit, _gateways, faults),
        st.builds(results_do_not_fit, _gateways, st.sampled_from((0, 1, 4))),
        st.builds(nobody_is_heard_for_long, _gateways),
        st.builds(wanted_and_met, _gateways),
    )
    return st.sampled_from(range(len(kinds))).flatmap(kinds.__getitem__)


def direct_scenes() -> SearchStrategy[Scene]:
    names = st.sampled_from(POOL_NAMES)
    downs = st.sampled_from((0.5, 0.5, 8.0))
    kinds: tuple[SearchStrategy[Scene], ...] = (
        *[st.builds(one_worker_is_replaced, names, _gateways, downs, st.booleans())] * 3,
        st.builds(pool_leaves_waiting_work, names, _gateways, st.sampled_from((0.2, 5.0))),
    )
    return st.sampled_from(range(len(kinds))).flatmap(kinds.__getitem__)
