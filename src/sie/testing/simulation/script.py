"""A simulation as data: what clients ask, what goes wrong, how long nothing happens. It shrinks, and is its own replay.

Steps are total: each can be taken in every state of every cluster.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing import faults
from sie.testing.cluster.catalogue import SERVED
from sie.testing.cluster.client import Ask, Shape
from sie.testing.cluster.cluster import Topology
from sie.wire.converters import EXACT, WireError, structure


@attrs.frozen
class Wait:
    for_s: float


BURSTS = (1, 2, 4, 8, 32)
"""Clients at once: the largest fills what a worker may hold within a few steps."""
GOOD: Shape = "good"
SHAPES: tuple[Shape, ...] = get_args(Shape)

Step: TypeAlias = Ask | Wait | faults.Fault


@attrs.frozen
class Script:
    seed: int
    topology: Topology
    steps: tuple[Step, ...]


_KINDS: Mapping[str, type[object]] = {kind.__name__: kind for kind in (Ask, Wait, *faults.FAULTS)}


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
    which = (st.integers(0, 2), st.sampled_from(SERVED), st.integers(1, 5), shapes, st.booleans(), leaves)
    return st.builds(Ask, *which, st.sampled_from(BURSTS)).map(_deadly_alone)


def steps() -> SearchStrategy[Step]:
    """Six of ten are clients and two are faults; the others let time pass."""
    waits = st.builds(Wait, st.sampled_from((0.1, 1.0, 7.0, 20.0)))
    kinds: tuple[SearchStrategy[Step], ...] = (waits, waits, faults.faults(), faults.faults(), *[asks()] * 6)
    return st.sampled_from(range(len(kinds))).flatmap(kinds.__getitem__)


def topologies() -> SearchStrategy[Topology]:
    return st.builds(Topology, st.integers(1, 2), st.integers(1, 2), st.sampled_from(("memory", "file")))


def scripts(max_steps: int, *, min_steps: int = 0) -> SearchStrategy[Script]:
    listed = st.lists(steps(), min_size=min_steps, max_size=max_steps).map(tuple)
    return st.builds(Script, st.integers(0, 2**16), topologies(), listed)


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
