"""Steps that belong together where pools are kept in Kubernetes: changes that one gateway does not hear of.

A pool that goes while nobody watches, one that is renewed elsewhere before it ends here, clocks that are apart.
"""

from typing import get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing.cluster.pool_calls import POOL_NAMES, PoolCall
from sie.testing.faults_kind import Fault
from sie.testing.faults_pools import ApiCutOff, ApiRestarts, ApiSlow, ClockSkewed, Edit, EditedByHand, WatchesEnd
from sie.testing.faults_serving import ProcessKilled
from sie.testing.simulation.steps import Wait

Scene = tuple[PoolCall | Wait | Fault, ...]


def goes_unheard(name: str, gateway: int, forgets: bool) -> Scene:
    """Deleted while one gateway hears nothing; the API server may have forgotten of it by the time that it listens."""
    deaf: Fault = WatchesEnd("silent") if forgets else ApiCutOff(gateway, 12.0)
    begun = (PoolCall("put", gateway, name, cap=1, ttl_s=600), Wait(1.0), deaf, Wait(0.1))
    gone: Scene = (PoolCall("delete", gateway + 1, name), *((WatchesEnd("gone"),) if forgets else ()))
    return (*begun, *gone, Wait(20.0), PoolCall("get", gateway, name), PoolCall("renew", gateway, name))


def renewed_elsewhere(name: str, gateway: int) -> Scene:
    """Nobody hears of the renewals; by what the others know, it is over."""
    renewal = (Wait(1.0),) * 3 + (PoolCall("renew", gateway, name),)
    begun = (PoolCall("put", gateway, name, ttl_s=10), Wait(1.0), WatchesEnd("silent"))
    return (*begun, *renewal * 6, PoolCall("delete", gateway, name), PoolCall("put", gateway + 1, name))


def deleted_elsewhere(name: str, gateway: int) -> Scene:
    """Who has not heard of it renews it."""
    begun = (PoolCall("put", gateway, name, ttl_s=600), Wait(1.0), WatchesEnd("silent"), Wait(0.1))
    return (*begun, PoolCall("delete", gateway, name), Wait(1.0), PoolCall("renew", gateway + 1, name), Wait(1.0))


def ends_by_another_clock(name: str, gateway: int, by_s: float) -> Scene:
    """A clock that is ahead within what is allowed; the pool lives less long than it is wrong."""
    return (ClockSkewed(gateway, by_s, 40.0), Wait(0.1), PoolCall("put", gateway + 1, name, ttl_s=3), Wait(20.0))


def changed_at_once(name: str, gateway: int, clients: int, by_s: float) -> Scene:
    """By all gateways, each of which reads what the others are about to change."""
    put, renewal = PoolCall("put", gateway, name, clients=clients), PoolCall("renew", gateway + 1, name, clients=2)
    return (put, Wait(0.1), ApiSlow(by_s, 2), put, renewal, put, Wait(7.0), PoolCall("get", gateway, name))


def known_without_a_server(name: str, gateway: int, down_s: float, ttl_s: int) -> Scene:
    """Whoever starts meanwhile does not know it; the others go on."""
    changes = (PoolCall("put", gateway, name), PoolCall("delete", gateway + 1, name))
    asks = (PoolCall("get", gateway, name), PoolCall("list", gateway + 1, name), *changes)
    return (PoolCall("put", gateway, name, cap=1, ttl_s=ttl_s), Wait(7.0), ApiRestarts(down_s), Wait(7.0), *asks)


def joined_late(name: str, gateway: int, worker_from_the_end: int) -> Scene:
    """One gateway starts while a worker is away, and the others have not missed it; a pool has one of the workers."""
    killed = (ProcessKilled(-worker_from_the_end, 8.0), ProcessKilled(1 + gateway, 0.5), Wait(20.0))
    return (PoolCall("put", gateway, name, cap=1, ttl_s=600), Wait(1.0), *killed, PoolCall("list", gateway, name))


def renewed_by_a_clock_behind(name: str, gateway: int, by_s: float) -> Scene:
    begun = (ClockSkewed(gateway, by_s, 40.0), Wait(0.1), PoolCall("put", gateway, name), Wait(0.1))
    return (*begun, PoolCall("renew", gateway + 1, name), PoolCall("put", gateway + 1, name))


def spoiled(name: str, gateway: int, how: Edit) -> Scene:
    """By a hand; who asks for the pool again has it again."""
    put = PoolCall("put", gateway, name, ttl_s=600)
    return (put, Wait(1.0), EditedByHand(name, how), Wait(1.0), PoolCall("renew", gateway + 1, name), put)


def pool_scenes() -> SearchStrategy[Scene]:
    names, gateways = st.sampled_from(POOL_NAMES), st.integers(0, 1)
    kinds: tuple[SearchStrategy[Scene], ...] = (
        st.builds(goes_unheard, names, gateways, st.booleans()),
        st.builds(renewed_elsewhere, names, gateways),
        st.builds(deleted_elsewhere, names, gateways),
        st.builds(ends_by_another_clock, names, gateways, st.sampled_from((2.0, 4.0))),
        st.builds(changed_at_once, names, gateways, st.integers(2, 3), st.sampled_from((0.3, 2.0))),
        st.builds(known_without_a_server, names, gateways, st.sampled_from((12.0, 45.0)), st.sampled_from((3, 600))),
        *[st.builds(joined_late, names, gateways, st.integers(1, 2))] * 2,
        st.builds(renewed_by_a_clock_behind, names, gateways, st.sampled_from((2.0, 4.0))),
        st.builds(spoiled, names, gateways, st.sampled_from(get_args(Edit))),
    )
    return st.sampled_from(range(len(kinds))).flatmap(kinds.__getitem__)
