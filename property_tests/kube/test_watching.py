"""`watch_forever` follows the double through every fault, on a jumping clock: the whole client, nothing replaced."""

import random
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import attrs
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from property_tests.kube.writing import SELECTOR, Write, held_by, new_model, write, writes
from sie.kube.access import Access
from sie.kube.client import open_kube
from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.mirror import Mirror
from sie.kube.core.values import Change, ConfigMap, Put
from sie.kube.watching import Watch, watch_forever
from sie.testing.kube.asking import Verb
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.faults import Delay, Fault, Garble, Hang, LoseAnswer, Mute, Refuse
from sie.testing.kube.inprocess import InProcess

T = TypeVar("T")
SETTLED_S = 600.0
"""Longer than any wait, hang and half-open connection that a script holds."""


@attrs.frozen
class Wait:
    for_s: float


@attrs.frozen
class Fails:
    """The next requests meet it."""

    fault: Fault
    times: int


@attrs.frozen
class Does:
    """To all watches in progress, or to the history."""

    what: Callable[[KubeDouble], None]


Step = Write | Wait | Fails | Does
codes = st.sampled_from((400, 401, 403, 410, 429, 500, 503))
faults: st.SearchStrategy[Fault] = st.one_of(
    st.builds(Refuse, codes, st.sampled_from((None, "0", "7", "soon"))),
    st.builds(Delay, st.sampled_from((0.5, 8.0, 30.0))),
    st.sampled_from((Hang(), LoseAnswer(), Garble(), Mute())),
)
doings = st.sampled_from(
    (KubeDouble.cut_watches, KubeDouble.expire_watches, KubeDouble.mute_watches, lambda double: double.model.compact())
)
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        writes(),
        st.builds(Wait, st.sampled_from((0.01, 1.0, 40.0, 100.0))),
        st.builds(Fails, faults, st.integers(1, 4)),
        st.builds(Does, doings),
    ),
    max_size=25,
)


async def in_place(work: Callable[[], T], /) -> T:
    return work()


async def run(steps: list[Step], seed: int) -> None:
    luck = random.Random(seed)
    double = KubeDouble(new_model())
    mirror: Mirror[ConfigMap] = Mirror()
    known: dict[str, ConfigMap] = {}

    def changed(changes: tuple[Change[ConfigMap], ...]) -> None:
        for change in changes:
            if isinstance(change, Put):
                known[change.item.metadata.name] = change.item
            else:
                del known[change.item.metadata.name]
        assert known == mirror.items

    async with trio.open_nursery() as nursery:
        transport = InProcess(double, nursery)
        async with open_kube(Access("http://kube"), run_in_thread=in_place, transport=transport) as kube:
            nursery.start_soon(partial(watch_forever, kube, Watch(CONFIG_MAPS, mirror, changed, luck.random, SELECTOR)))
            for step in steps:
                await take(step, double)
            double.faults.clear()
            await trio.sleep(SETTLED_S)
            assert mirror.items == held_by(double.model)
            verbs: list[Verb] = [asked.verb for asked in double.asked]
            assert len(verbs) < 100 * (len(steps) + 10), "a hot loop"
            nursery.cancel_scope.cancel()


async def take(step: Step, double: KubeDouble) -> None:
    match step:
        case Write():
            write(double.model, step)
        case Wait(for_s):
            await trio.sleep(for_s)
        case Fails(fault, times):
            double.faults.add(fault, times=times)
        case Does(what):
            what(double)


@given(steps, st.integers(0, 2**16))
def test_the_mirror_is_right_once_the_faults_are_over(steps: list[Step], seed: int) -> None:
    trio.run(run, steps, seed, clock=MockClock(autojump_threshold=0))
