"""What do pools cost a request (`ci/bench pools`)? The look-up of the one that it names, and its way from there."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ci.lib.bench_config_models import model_id, model_text
from ci.lib.bench_figure import Figure
from ci.lib.bench_pools_facts import (
    BUNDLE,
    CAP,
    SHAPES,
    WORKERS,
    Shape,
    capped,
    rounded,
    specs,
    timed_ms,
    uncapped,
    view_of,
)
from ci.lib.bench_pools_facts import workers as workers_of
from sie.domain.bundle import Bundle
from sie.domain.ids import DEFAULT_POOL, PoolName, RequestId
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.asking import Asked
from sie.gateway.core.lane_book import LaneBook
from sie.gateway.core.routing import Facts, Routed, resolve
from sie.wire.documents import parse_model

LOOKUP_LIMIT_US = 2.0
RESOLVE_LIMIT_US = 100.0
"""Not promised anywhere: it is there to be seen growing, with the workers of a lane where a pool is capped."""
BOOK_LIMIT_MS = 20.0
"""It is made anew in the loop, once for each change in the fleet."""
MODELS = 100
LOOKUPS = 100_000
RESOLVES = 2_000
QUICKER = 4


def request_figures(quick: bool) -> Iterator[Figure]:
    part = QUICKER if quick else 1
    models = [parse_model(model_text(number)) for number in range(MODELS)]
    registry = RegistrySnapshot.of([Bundle(BUNDLE, ("acme.enc",), 10)], models)
    config_hash = registry.scoped_hash(BUNDLE, DEFAULT_POOL)
    assert config_hash is not None
    for shape in SHAPES:
        there, names = workers_of(shape, config_hash), [spec.name for spec in specs(shape)]
        view, count = view_of(shape, there), LOOKUPS // part
        for name, find in (("find", view.find), ("assignment", view.assignment)):
            yield figure(f"{name}_{shape.name}", timed_us(partial(look_up, find, names, count), count), LOOKUP_LIMIT_US)
        yield ms_figure(f"lane_book_{shape.name}", timed_ms(partial(LaneBook.of, there)))
        facts = Facts(registry, view, LaneBook.of(there))
        yield from resolve_figures(facts, shape, RESOLVES // part)


def resolve_figures(facts: Facts, shape: Shape, count: int) -> Iterator[Figure]:
    """The capped pool is one of those that hold the most."""
    pools = {"no_pool": None, "uncapped": uncapped(0, shape).name, "capped": capped(CAP - 1, shape).name}
    for name, pool in pools.items():
        taken = timed_us(partial(resolve_many, facts, pool, count), count)
        yield figure(f"resolve_{name}_{shape.name}", taken, RESOLVE_LIMIT_US)


def look_up(find: Callable[[PoolName], object], names: Sequence[PoolName], count: int) -> None:
    """The loop's own cost is in it."""
    for turn in range(count // len(names)):
        for name in names:
            assert find(name) is not None, (turn, name)


def resolve_many(facts: Facts, pool: PoolName | None, count: int) -> None:
    """Each for another request; what is asked for is a model that everybody here serves."""
    asked = Asked(model_id(7), pool=pool)
    for number in range(count):
        routed = resolve(facts, asked, RequestId(f"request-{number}"))
        assert isinstance(routed, Routed), routed


def timed_us(work: Callable[[], None], count: int) -> list[float]:
    return [1000 * ms / count for ms in timed_ms(work)]


def figure(name: str, taken: Sequence[float], limit_us: float) -> Figure:
    return Figure("pools", name, min(taken), limit_us, "us", {"of": "the best", "runs": rounded(taken)})


def ms_figure(name: str, taken: Sequence[float]) -> Figure:
    details = {"of": "the best", "runs": rounded(taken), "workers": WORKERS}
    return Figure("pools", name, min(taken), BOOK_LIMIT_MS, "ms", details)
