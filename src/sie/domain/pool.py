"""What may a tenant ask of a pool, and what does a pool hold now (§16.3, wire-facts 4.4)?

A logical pool is capacity that a tenant names; the physical queue pool behind it is where its workers are and its work
queues up. Names and tokens are lower case from here on, whatever case they came in.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, NewType

import attrs

from sie.domain.ids import DEFAULT_POOL, BundleName, InvalidId, MachineProfile, PoolName, pool_name

PoolState = Literal["pending", "active", "expired"]
PinnedModel = NewType("PinnedModel", str)
"""The serving id of a model that is always to be loaded: `org/name`, or `org/name:profile`."""

MAX_NAME = 63
"""Characters of a pool's name, a machine profile or a bundle: they stand in subjects, labels and metrics (§16.3)."""
DEFAULT_TTL_S = 1200
"""What a lease has that named no time (wire-facts 4.4)."""
MAX_TTL_S = 366 * 24 * 3600
MAX_WORKERS_ASKED = 100_000
"""Of one machine profile, and of a warm floor: far more than a cluster has."""
MAX_PROFILES = 256
"""Machine profiles that one pool names."""
MAX_PINNED = 256
"""Models that one pool pins."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


class InvalidPool(ValueError):
    """A pool that may not be; the message names the field, the rule with its limit, and the value seen."""

    def __init__(self, field: str, value: object, rule: str) -> None:
        super().__init__(f"{field} {rule}, not {_shown(value)}")
        self.field = field
        self.value = value


@attrs.frozen
class PoolSpec:
    """Made by `pool_spec`. `gpus` are workers that it needs of each machine profile, a worker counting as one;
    `gpu_caps` the most that it holds of one. Without either it takes every profile. `bundle` None takes every bundle.
    """

    name: PoolName
    gpus: Mapping[MachineProfile, int] = attrs.field(factory=dict)
    gpu_caps: Mapping[MachineProfile, int] = attrs.field(factory=dict)
    bundle: BundleName | None = None
    queue_pool: PoolName = DEFAULT_POOL
    ttl_seconds: int | None = None
    minimum_worker_count: int = 0
    pinned_models: tuple[PinnedModel, ...] = ()

    @property
    def profiles(self) -> tuple[MachineProfile, ...]:
        """Those that it names, sorted."""
        return tuple(sorted({*self.gpus, *self.gpu_caps})) if self.gpus or self.gpu_caps else ()

    @property
    def ttl_s(self) -> int:
        return DEFAULT_TTL_S if self.ttl_seconds is None else self.ttl_seconds


@attrs.frozen
class Pool:
    """A pool as it is kept, in unix seconds. A protected one is the cluster's own: it never expires or goes away."""

    spec: PoolSpec
    created_s: float
    renewed_s: float
    is_protected: bool = False

    @property
    def expires_s(self) -> float:
        return float("inf") if self.is_protected else self.renewed_s + self.spec.ttl_s

    def is_expired(self, now_s: float) -> bool:
        return now_s >= self.expires_s

    def renewed(self, now_s: float) -> "Pool":
        """Never sooner to end than it was: another gateway's clock may be ahead of ours."""
        return attrs.evolve(self, renewed_s=max(now_s, self.renewed_s))


def asked_for(before: Pool | None, spec: PoolSpec, now_s: float) -> Pool:
    """What is kept once a pool was asked for (wire-facts 4.4): a new one; or that of its name, changed and renewed."""
    return Pool(spec, now_s, now_s) if before is None else attrs.evolve(before.renewed(now_s), spec=spec)


@attrs.frozen
class AssignedWorker:
    """A worker as a pool's status names it; `profile` is its machine profile, `url` None where it told none."""

    name: str
    profile: MachineProfile
    bundle: BundleName
    url: str | None = None


def logical_pool_name(text: str, field: str = "name") -> PoolName:
    """Raises InvalidPool."""
    try:
        name = pool_name(text)
    except InvalidId as error:
        rule = f"must be 1 to {MAX_NAME} letters, digits, '_' or '-', and '_default' is reserved"
        raise InvalidPool(field, text, rule) from error
    return PoolName(_short(name, field))


def lane_token(text: str, field: str) -> str:
    """A machine profile or a bundle as lanes are named by, in lower case (§16.3). Raises InvalidPool."""
    stripped = text.strip()
    if not _TOKEN.fullmatch(stripped):
        raise InvalidPool(field, text, f"must be 1 to {MAX_NAME} letters, digits, '_' or '-'")
    return _short(stripped.lower(), field)


def pool_spec(
    name: str,
    *,
    gpus: Mapping[str, int],
    gpu_caps: Mapping[str, int],
    bundle: str | None = None,
    queue_pool: str | None = None,
    ttl_seconds: int | None = None,
    minimum_worker_count: int = 0,
    pinned_models: Iterable[str] = (),
) -> PoolSpec:
    """Canonical, of what somebody asked for; a field that is None was not named. Raises InvalidPool."""
    wanted, caps = _counts(gpus, "gpus"), _counts(gpu_caps, "gpu_caps")
    _check_caps(wanted, caps)
    if ttl_seconds is not None and not 1 <= ttl_seconds <= MAX_TTL_S:
        raise InvalidPool("ttl_seconds", ttl_seconds, f"must be 1 to {MAX_TTL_S}")
    return PoolSpec(
        name=logical_pool_name(name),
        gpus=wanted,
        gpu_caps=caps,
        bundle=None if bundle is None else BundleName(lane_token(bundle, "bundle")),
        queue_pool=DEFAULT_POOL if queue_pool is None else logical_pool_name(queue_pool, "queue_pool"),
        ttl_seconds=ttl_seconds,
        minimum_worker_count=_count(minimum_worker_count, "minimum_worker_count"),
        pinned_models=_pinned(pinned_models),
    )


@lru_cache(1024)
def protected_spec(name: PoolName) -> PoolSpec:
    """The pool that a physical queue pool has of itself: all of its workers, and no requirement (§16.3)."""
    return PoolSpec(name, queue_pool=name)


def _counts(asked: Mapping[str, int], field: str) -> Mapping[MachineProfile, int]:
    """Sorted by machine profile."""
    if len(asked) > MAX_PROFILES:
        raise InvalidPool(field, len(asked), f"must name at most {MAX_PROFILES} machine profiles")
    found: dict[MachineProfile, int] = {}
    for text, count in asked.items():
        profile = MachineProfile(lane_token(text, f"{field} key"))
        if profile in found:
            raise InvalidPool(f"{field} key", text, f"must be named once, and {profile!r} is there already")
        found[profile] = _count(count, f"{field}.{profile}")
    return dict(sorted(found.items()))


def _count(value: int, field: str) -> int:
    if not 0 <= value <= MAX_WORKERS_ASKED:
        raise InvalidPool(field, value, f"must be 0 to {MAX_WORKERS_ASKED}")
    return value


def _check_caps(gpus: Mapping[MachineProfile, int], caps: Mapping[MachineProfile, int]) -> None:
    for profile, cap in caps.items():
        needed = gpus.get(profile, 0)
        if cap < needed:
            raise InvalidPool(f"gpu_caps.{profile}", cap, f"must be at least gpus.{profile}, which is {needed}")


def _pinned(asked: Iterable[str]) -> tuple[PinnedModel, ...]:
    """Each once, in the order named; which models there are is the registry's to say."""
    models = tuple(dict.fromkeys(map(PinnedModel, asked)))
    if len(models) > MAX_PINNED:
        raise InvalidPool("pinned_models", len(models), f"must name at most {MAX_PINNED} models")
    return models


def _short(text: str, field: str) -> str:
    if len(text) > MAX_NAME:
        raise InvalidPool(field, text, f"must be at most {MAX_NAME} characters")
    return text


def _shown(value: object) -> str:
    """What was seen, with no more of a long text than tells it apart."""
    if isinstance(value, str) and len(value) > MAX_NAME:
        return f"{value[:MAX_NAME]!r}… of {len(value)} characters"
    return repr(value)
