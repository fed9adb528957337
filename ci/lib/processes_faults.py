"""What is killed, when, and for how long is it away? Drawn from the seed in rounds that hold every kind; pure."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Literal

import attrs

Kind = Literal["worker", "backend", "broker", "gateway"]

ROUND: Sequence[Kind] = ("worker", "worker", "backend", "backend", "broker", "broker", "gateway")
QUICK_ROUND: Sequence[Kind] = ("worker", "backend", "broker", "gateway")
"""One worker is left: with none a client waits for a minute."""
PAUSE_S = (2.0, 8.0)
QUICK_PAUSE_S = (1.0, 4.0)
AWAY_S: Mapping[Kind, tuple[float, float]] = {
    "worker": (0.0, 3.0),
    "backend": (0.0, 0.0),
    "broker": (0.0, 4.0),
    "gateway": (0.0, 1.0),
}
"""A backend child is started again by its worker."""


@attrs.frozen
class Fault:
    """`pause_s` comes before it. `pick` says which of several workers, by its place modulo their number."""

    kind: Kind
    pick: int
    pause_s: float
    away_s: float


def draw_faults(seed: int, *, quick: bool) -> Iterator[Fault]:
    luck = Random(f"faults {seed}")
    kinds, pause_s = (QUICK_ROUND, QUICK_PAUSE_S) if quick else (ROUND, PAUSE_S)
    while True:
        for kind in luck.sample(kinds, len(kinds)):
            yield Fault(kind, luck.randrange(1 << 16), luck.uniform(*pause_s), luck.uniform(*AWAY_S[kind]))
