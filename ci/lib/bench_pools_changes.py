"""What happens to pools in a storm (`ci/bench pools`)? The same in the process that makes the changes and in the one
that must have heard of them all.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

import attrs

from ci.lib.bench_pools_facts import CAPPED, NOW_S, capped
from sie.domain.ids import PoolName
from sie.domain.pool import Pool

EVENTS = 10_000
ROUND_S = 100_000.0
"""Of the pools' own time, between two storms."""
_KINDS = ("renewed", "renewed", "respecified", "renewed", "renewed", "respecified", "renewed", "renewed", "gone", "new")


@attrs.frozen
class Change:
    """The pool as it is kept from now on; None where it goes."""

    name: PoolName
    after: Pool | None


def first_pools() -> Iterator[Pool]:
    return (Pool(capped(number), NOW_S, NOW_S) for number in range(CAPPED))


def storm(number: int) -> Iterator[Change]:
    """Seven in ten renew a lease, as most changes do; two write other caps; one in ten goes, and one comes again. The
    last one makes a pool that no other storm has.
    """
    yield from islice(_changes(number), EVENTS - 1)
    at_s = NOW_S + ROUND_S * (number + 1)
    yield Change(last_of(number), Pool(attrs.evolve(capped(0), name=last_of(number)), at_s, at_s))


def last_of(number: int) -> PoolName:
    return PoolName(f"last-{number}")


def pools_after(storms: int) -> Mapping[PoolName, Pool]:
    held = {pool.spec.name: pool for pool in first_pools()}
    for number in range(storms):
        for change in storm(number):
            if change.after is None:
                del held[change.name]
            else:
                held[change.name] = change.after
    return held


def _changes(storm_number: int) -> Iterator[Change]:
    for step in range(EVENTS):
        turn, pool = divmod(step, CAPPED)
        at_s = NOW_S + ROUND_S * storm_number + step + 1.0
        yield _change(_KINDS[(turn + pool) % len(_KINDS)], pool, at_s)


def _change(kind: str, number: int, at_s: float) -> Change:
    spec = capped(number)
    match kind:
        case "gone":
            return Change(spec.name, None)
        case "respecified":
            return Change(spec.name, Pool(capped(number, cap=1 + int(at_s) % 16), NOW_S, at_s))
        case _:
            return Change(spec.name, Pool(spec, NOW_S, at_s))
