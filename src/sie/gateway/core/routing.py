"""Where a request goes (§2, §16.1, §16.3): from what it asks for, the registry, the pools and the fleet to one lane.

A capped pool holds some of a lane's workers and not the others, so its work goes to one of them by name (§8.2).
"""

from collections.abc import Iterable
from hashlib import blake2b
from itertools import chain
from typing import TypeAlias

import attrs
import msgspec

from sie.domain.bundle_hash import BundleHash
from sie.domain.errors import ErrorCode
from sie.domain.ids import (
    DEFAULT_POOL,
    DEFAULT_PROFILE,
    BundleName,
    MachineProfile,
    ModelId,
    PoolName,
    ProfileName,
    RequestId,
    WorkerId,
)
from sie.domain.lane import Lane
from sie.domain.pool import PoolSpec, protected_spec
from sie.domain.registry import RegistrySnapshot, ServingName
from sie.gateway.core.asking import Asked, no_pool, not_configured
from sie.gateway.core.lane_book import LaneBook, Wanted, Worker
from sie.gateway.core.pool_view import PoolView
from sie.gateway.core.refusing import Refused

SYNC_S = 5
"""After which a client asks a gateway again that has only started."""
FALLBACK_BUNDLE = BundleName("default")
"""Asked for where nothing is known of bundles yet, and the request names none (§2)."""


class Target(msgspec.Struct, frozen=True):
    """What is to be run, under which configuration: `""` only where none is known yet (decisions)."""

    model: ModelId
    profile: ProfileName
    bundle: BundleName
    config_hash: BundleHash


class Routed(msgspec.Struct, frozen=True):
    """`pool` is the logical one, `lane` the physical one; `direct` the worker that alone may take it."""

    target: Target
    pool: PoolName
    lane: Lane
    direct: WorkerId | None = None


@attrs.frozen
class Provisioning:
    """All is well but that no healthy worker with our configuration is there: try again later (§2)."""

    spec: PoolSpec
    bundle: BundleName
    profile: MachineProfile | None

    def __str__(self) -> str:
        return f"{self.spec.queue_pool}/{self.profile or '*'}/{self.bundle}"


Resolution: TypeAlias = Routed | Refused | Provisioning


class Facts(msgspec.Struct, frozen=True):
    """What one gateway knows at one moment; `is_synced`: and there is no more that it has yet to read."""

    registry: RegistrySnapshot
    pools: PoolView
    book: LaneBook
    is_synced: bool = True


def resolve(facts: Facts, asked: Asked, request: RequestId) -> Resolution:
    """`request` chooses among workers that are equally good, so that requests spread over them."""
    name = facts.registry.find(asked.serving_id)
    spec = _pool_of(facts.pools, asked, name)
    if isinstance(spec, Refused):
        return spec
    target = _unseeded(facts, asked) if name is None else _target(facts.registry, asked, name, spec)
    if not isinstance(target, Target):
        return target
    if asked.profile is not None and spec.profiles and asked.profile not in spec.profiles:
        words = f"the pool {spec.name!r} holds no {asked.profile!r}; it names: {', '.join(spec.profiles)}"
        return not_configured(asked.profile, words, spec.profiles)
    return _place(facts, spec, asked, target, request)


def _pool_of(pools: PoolView, asked: Asked, name: ServingName | None) -> PoolSpec | Refused:
    """The one named; else the model's own queue pool, which needs nobody's leave (decisions)."""
    if asked.pool is not None:
        pool = pools.find(asked.pool)
        return no_pool(asked.pool) if pool is None else pool.spec
    return protected_spec(DEFAULT_POOL if name is None else name.model.pool)


def _unseeded(facts: Facts, asked: Asked) -> Target | Refused:
    """A gateway that knows no model at all believes a request that pins its pool (§2); nobody else is told that there
    is no such model before it has heard which there are.
    """
    if facts.registry.models or (asked.pool is None and facts.is_synced):
        return Refused(ErrorCode.MODEL_NOT_FOUND, f"Model not found: {asked.serving_id}", {"model": asked.serving_id})
    if asked.pool is None:
        words = "the gateway has not read its models from the config service yet"
        return Refused(ErrorCode.PROVISIONING, words, retry_after_s=SYNC_S)
    return Target(ModelId(asked.serving_id), DEFAULT_PROFILE, asked.bundle or FALLBACK_BUNDLE, BundleHash(""))


def _target(
    registry: RegistrySnapshot, asked: Asked, name: ServingName, spec: PoolSpec
) -> Target | Refused | Provisioning:
    """The best of the model's bundles, unless the request or its pool names one. Without a hash nobody serves it."""
    named = [bundle for bundle in (spec.bundle, asked.bundle) if bundle is not None]
    fitting = tuple(b for b in name.bundles if all(b.lower() == one for one in named)) if named else name.bundles
    if not fitting:
        return _wrong_bundle(asked, name, spec)
    if name.model.pool != spec.queue_pool:
        words = f"the pool {spec.name!r} is served from the queue pool {spec.queue_pool!r}, and {asked.serving_id!r}"
        extra = {"model": asked.serving_id, "pool": spec.name, "queue_pool": name.model.pool}
        return Refused(ErrorCode.MODEL_NOT_FOUND, f"{words} only from {name.model.pool!r}", extra)
    config_hash = registry.scoped_hash(fitting[0], spec.queue_pool)
    if config_hash is None:
        return Provisioning(spec, fitting[0], asked.profile)
    return Target(name.model.sie_id, name.profile, fitting[0], config_hash)


def _wrong_bundle(asked: Asked, name: ServingName, spec: PoolSpec) -> Refused:
    bundle, fitting = asked.bundle or spec.bundle, list(name.bundles)
    words = f"Bundle '{bundle}' does not support model '{asked.serving_id}'. Compatible bundles: {fitting}"
    if asked.bundle is not None and spec.bundle not in (None, asked.bundle):
        words = f"the pool {spec.name!r} holds workers of the bundle {spec.bundle!r} alone, not of {asked.bundle!r}"
    extra = {"model": asked.serving_id, "bundle": bundle, "compatible_bundles": fitting}
    return Refused(ErrorCode.BUNDLE_CONFLICT, words, extra)


def _place(facts: Facts, spec: PoolSpec, asked: Asked, target: Target, request: RequestId) -> Routed | Provisioning:
    profiles = (asked.profile,) if asked.profile is not None else spec.profiles or (None,)
    found = [_candidates(facts, spec, profile, target) for profile in profiles]
    candidates = found[0] if len(found) == 1 else tuple(chain.from_iterable(found))
    if not candidates:
        if target.config_hash == "" and asked.profile is not None:
            return Routed(target, spec.name, Lane(spec.queue_pool, asked.profile, target.bundle))
        return Provisioning(spec, target.bundle, asked.profile)
    lane = candidates[_draw(request) % len(candidates) if len(candidates) > 1 else 0].lane
    held = [worker for worker in candidates if worker.lane == lane] if _is_capped(spec, lane) else ()
    return Routed(target, spec.name, lane, _heaviest(held, request) if held else None)


def _candidates(facts: Facts, spec: PoolSpec, profile: MachineProfile | None, target: Target) -> tuple[Worker, ...]:
    """Whoever may take it and has room; all who may, where none has."""
    wanted = Wanted(spec.queue_pool, BundleName(target.bundle.lower()), profile, target.config_hash or None)
    if profile not in spec.gpu_caps:
        return facts.book.best(wanted)
    held = {assigned.name for assigned in facts.pools.assignment(spec.name).workers}
    ours = tuple(worker for worker in facts.book.workers(wanted) if worker.worker in held)
    return tuple(worker for worker in ours if not worker.is_saturated) or ours


def _is_capped(spec: PoolSpec, lane: Lane) -> bool:
    return lane.machine_profile.lower() in spec.gpu_caps


def _draw(request: RequestId) -> int:
    """Any number, and always the same for one request."""
    return int.from_bytes(blake2b(request.encode(), digest_size=4).digest())


def _heaviest(workers: Iterable[Worker], request: RequestId) -> WorkerId:
    """Highest random weight: one that leaves moves only the requests that it had drawn (§8.2)."""
    return max((worker.worker for worker in workers), key=lambda worker: _weight(worker, request))


def _weight(worker: WorkerId, request: RequestId) -> bytes:
    return blake2b(f"{request} {worker}".encode(), digest_size=8).digest()
