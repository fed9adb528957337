"""A simulation as data: what clients ask, what goes wrong, how long nothing happens. It shrinks, and is its own replay.

Steps are total: each can be taken in every state of every cluster.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing import faults, faults_dispatch, faults_pools
from sie.testing.cluster.catalogue import ADDED, SERVED, SIDE, SIDE_TOO, WRITTEN
from sie.testing.cluster.client import Ask, Shape, Size
from sie.testing.cluster.pool_calls import POOL_NAMES, PROFILE, PoolCall
from sie.testing.cluster.pool_calls import Verb as PoolVerb
from sie.testing.cluster.topology import Topology
from sie.testing.cluster.writes import Read, Write
from sie.testing.faults_kind import Fault
from sie.testing.simulation.scenes import scenes
from sie.testing.simulation.scenes_dispatch import direct_scenes, dispatch_scenes
from sie.testing.simulation.scenes_pools import pool_scenes
from sie.testing.simulation.steps import Wait
from sie.wire.converters import EXACT, WireError, structure

BURSTS = (1, 2, 4, 8, 32)
"""Clients at once: the largest fills what a worker may hold within a few steps."""
GOOD: Shape = "good"
SHAPES: tuple[Shape, ...] = get_args(Shape)

Step: TypeAlias = Ask | Write | Read | PoolCall | Wait | Fault


@attrs.frozen
class Script:
    seed: int
    topology: Topology
    steps: tuple[Step, ...]


_KINDS: Mapping[str, type[object]] = {
    kind.__name__: kind for kind in (Ask, Write, Read, PoolCall, Wait, *faults.FAULTS)
}


def to_json(script: Script) -> str:
    rows = [{"step": type(step).__name__, **_fields(step)} for step in script.steps]
    return json.dumps({"seed": script.seed, "topology": attrs.asdict(script.topology), "steps": rows}, indent=1)


def from_json(text: str) -> Script:
    """Raises WireError."""
    body = json.loads(text)
    steps = tuple(_step(dict(row)) for row in body["steps"])
    return Script(body["seed"], structure(EXACT, body["topology"], Topology), steps)


def asks() -> SearchStrategy[Ask]:
    shapes = st.sampled_from((GOOD,) * 12 + SHAPES)
    leaves = st.sampled_from((None,) * 9 + (0.0, 0.3, 8.0))
    models = st.sampled_from((*SERVED * 4, SIDE, ADDED))
    which = (st.integers(0, 4), models, st.integers(1, 5), shapes, st.booleans(), leaves)
    return st.builds(Ask, *which, st.sampled_from(BURSTS)).map(_deadly_alone)


def odd_asks() -> SearchStrategy[Ask]:
    """What fits no message, and machines that there may not be; few at once, for each takes a whole batch."""
    sizes: SearchStrategy[Size] = st.sampled_from(("long", "long", "big result", "big result", "small"))
    profiles, few = st.sampled_from((None,) * 6 + (PROFILE, "huge")), st.sampled_from((1, 1, 2))
    return st.builds(
        lambda ask, size, profile, clients: attrs.evolve(ask, size=size, profile=profile, clients=clients),
        *(asks(), sizes, profiles, few),
    )


def pool_asks() -> SearchStrategy[Ask]:
    """To pools that may hold some of the workers, all of them, or not be there."""
    names = st.sampled_from(POOL_NAMES)
    return st.builds(lambda ask, name: attrs.evolve(ask, pool=name, clients=min(ask.clients, 8)), asks(), names)


def writes() -> SearchStrategy[Write]:
    """Most of what is written leaves the lane of the workers alone, so that they go on serving."""
    models = st.sampled_from((SIDE, SIDE, SIDE, SIDE_TOO, SIDE_TOO, *WRITTEN))
    verbs = st.sampled_from(("post", "post", "post", "put", "put", "delete", "delete"))
    kinds = st.sampled_from(("good",) * 9 + ("conflict", "alien", "broken"))
    keys = st.sampled_from((None,) * 4 + (1, 2))
    leaves = st.sampled_from((None,) * 6 + (0.0, 0.05, 0.3))
    clients, processes = st.sampled_from((1, 1, 2, 4)), st.sampled_from((0,) * 7 + (1,))
    return st.builds(Write, verbs, models, kinds, keys, clients, processes, leaves)


def steps() -> SearchStrategy[Step]:
    """Half are clients that ask; the others write, look, do harm, and let time pass."""
    waits = st.builds(Wait, st.sampled_from((0.1, 1.0, 7.0, 20.0)))
    reads = st.builds(Read, st.sampled_from(("replica", "replica", "export")), st.integers(0, 4))
    harm = faults.faults()
    asked: tuple[SearchStrategy[Step], ...] = (*[asks()] * 15, odd_asks())
    kinds: tuple[SearchStrategy[Step], ...] = (*[waits] * 3, *[harm] * 5, *[writes()] * 3, reads, *asked)
    return st.sampled_from(range(len(kinds))).flatmap(kinds.__getitem__)


def parts() -> SearchStrategy[tuple[Step, ...]]:
    """One in twenty is a whole scene, and one in sixty one of dispatch, or harm to what that alone uses."""
    alone, rare = steps().map(_alone), {**dict.fromkeys((0, 1, 2), scenes()), 3: _of_dispatch()}
    return st.sampled_from(range(60)).flatmap(lambda number: rare.get(number, alone))


def _of_dispatch() -> SearchStrategy[tuple[Step, ...]]:
    harm = faults_dispatch.payload_faults().map(_alone)
    return st.booleans().flatmap(lambda is_scene: dispatch_scenes() if is_scene else harm)


def pool_calls() -> SearchStrategy[PoolCall]:
    verbs: SearchStrategy[PoolVerb] = st.sampled_from(
        ("put",) * 5 + ("renew",) * 3 + ("delete", "delete", "get", "list")
    )
    needs, caps = st.sampled_from((None, None, 0, 1)), st.sampled_from((None, 0, 1, 1, 2))
    ttls, leaves = st.sampled_from((3, 10, 50, 600)), st.sampled_from((None,) * 6 + (0.0, 0.05))
    which = (verbs, st.integers(0, 4), st.sampled_from(POOL_NAMES), needs, caps, ttls)
    return st.builds(PoolCall, *which, st.sampled_from((1, 1, 1, 2, 3)), leaves)


def parts_with_pools() -> SearchStrategy[tuple[Step, ...]]:
    """Most are of pools: calls, work for them, harm to the API server, and whole scenes."""
    calls, harm, others = pool_calls().map(_alone), faults_pools.pool_faults().map(_alone), parts()
    asked, direct = pool_asks().map(_alone), faults_dispatch.direct_faults().map(_alone)
    kinds = (*[calls] * 5, *[harm] * 2, *[pool_scenes()] * 3, *[asked] * 2, direct, direct_scenes(), *[others] * 6)
    return st.sampled_from(range(len(kinds))).flatmap(kinds.__getitem__)


def _joined(listed: list[tuple[Step, ...]]) -> tuple[Step, ...]:
    return tuple(step for part in listed for step in part)


def _alone(step: Step) -> tuple[Step, ...]:
    return (step,)


def topologies() -> SearchStrategy[Topology]:
    gateways = st.sampled_from((1, 1, 2, 2, 3, 5))
    return st.builds(Topology, gateways, st.integers(1, 2), st.sampled_from(("memory", "file")))


def topologies_with_pools() -> SearchStrategy[Topology]:
    """Several gateways, and several workers to share out."""
    return st.builds(Topology, st.sampled_from((2, 2, 3)), st.sampled_from((2, 2, 3)), kubernetes=st.just(True))


def scripts(max_parts: int, *, min_parts: int = 0) -> SearchStrategy[Script]:
    """One in four is of pools too."""

    def with_steps(
        topology: SearchStrategy[Topology], part: SearchStrategy[tuple[Step, ...]]
    ) -> SearchStrategy[Script]:
        listed = st.lists(part, min_size=min_parts, max_size=max_parts).map(_joined)
        return st.builds(Script, st.integers(0, 2**16), topology, listed)

    plain, pools = with_steps(topologies(), parts()), with_steps(topologies_with_pools(), parts_with_pools())
    return st.sampled_from(range(4)).flatmap(lambda number: plain if number else pools)


def _deadly_alone(ask: Ask) -> Ask:
    """A crowd of inputs that each take the backend down three times leaves it no time for anything else."""
    return attrs.evolve(ask, clients=1) if ask.shape == "fatal" else ask


def _fields(step: object) -> Mapping[str, object]:
    kind = type(step)
    assert attrs.has(kind)
    return {field.name: getattr(step, field.name) for field in attrs.fields(kind)}


def _step(row: dict[str, object]) -> Step:
    kind = _KINDS.get(str(row.pop("step", None)))
    if kind is None:
        raise WireError.at("step", message="no such step")
    step: Step = structure(EXACT, row, kind)  # type: ignore[assignment]  # every kind in the table is a step
    return step
