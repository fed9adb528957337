"""What does a worker read of the gateway's pools (§16.3, wire-facts 4.4)? The answer of `GET /v1/pools`, as far as it
concerns who may run a pool's work and which models it pins.

Keys that an older gateway does not write have the value that it means by that.
"""

import json
from collections.abc import Iterable, Mapping

import attrs

from sie.domain.ids import DEFAULT_POOL
from sie.wire.converters import TOLERANT, WireError, structure


@attrs.frozen
class ListedPool:
    """`caps` by machine profile; `workers` are the ids of those assigned, `pinned` serving ids. Names in lower case."""

    name: str
    queue_pool: str = DEFAULT_POOL
    caps: Mapping[str, int] = attrs.field(factory=dict)
    workers: frozenset[str] = frozenset()
    pinned: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class _Spec:
    name: str
    queue_pool: str | None = None
    gpu_caps: Mapping[str, int] | None = None
    pinned_models: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class _Status:
    assigned_workers: object


@attrs.frozen(kw_only=True)
class _Row:
    spec: _Spec
    status: _Status


@attrs.frozen(kw_only=True)
class _Listing:
    pools: tuple[_Row, ...]


def read_listing(parts: Iterable[bytes]) -> tuple[ListedPool, ...]:
    """The body as it came, in parts. Raises WireError, and then nothing of it is taken."""
    try:
        value = json.loads(b"".join(parts))
    except (ValueError, RecursionError) as error:
        raise WireError.at(message=f"is no JSON: {error}") from error
    return tuple(map(_listed, structure(TOLERANT, value, _Listing).pools))


def _listed(row: _Row) -> ListedPool:
    spec = row.spec
    return ListedPool(
        name=spec.name.lower(),
        queue_pool=(spec.queue_pool or DEFAULT_POOL).lower(),
        caps={profile.lower(): cap for profile, cap in (spec.gpu_caps or {}).items()},
        workers=_names(row.status.assigned_workers),
        pinned=spec.pinned_models or (),
    )


def _names(rows: object) -> frozenset[str]:
    """By hand: there may be as many rows as pools times workers, and each is only looked at for its name."""
    match rows:
        case list():
            found = frozenset(row.get("name") if isinstance(row, dict) else None for row in rows)
        case _:
            found = frozenset((None,))
    names = frozenset(name for name in found if isinstance(name, str))
    if len(names) < len(found):
        raise WireError.at("assigned_workers", message="must be a list of objects that have a name")
    return names
