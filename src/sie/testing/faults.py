"""The faults that a simulated cluster meets, as values: a strategy draws them, and each knows how to begin.

Processes are named by number, modulo how many there are, so that every fault can be injected into every cluster.
"""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing import faults_config, faults_convergence, faults_dispatch, faults_pools, faults_serving
from sie.testing.faults_kind import Fault

_ROOMS = (faults_serving, faults_config, faults_convergence)
_ALL = (*_ROOMS, faults_pools, faults_dispatch)
KINDS: tuple[SearchStrategy[Fault], ...] = tuple(kind for room in _ROOMS for kind in room.KINDS)
FAULTS: tuple[type[Fault], ...] = tuple(kind for room in _ALL for kind in room.FAULTS)


def faults() -> SearchStrategy[Fault]:
    """Each kind as often as any other. Those of pools and of dispatch are drawn where they can do harm."""
    return st.sampled_from(range(len(KINDS))).flatmap(KINDS.__getitem__)
