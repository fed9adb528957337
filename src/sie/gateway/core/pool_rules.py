"""May this pool be, in this cluster and for these models (§16.3)? What a well-formed spec cannot tell by itself. Pure.

`pool_rules` reads what the cluster was deployed with; a value that cannot be is refused before anything starts.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import attrs

from sie.domain.errors import ErrorCode
from sie.domain.ids import DEFAULT_POOL, BundleName, MachineProfile, PoolName
from sie.domain.lane import Lane
from sie.domain.pool import InvalidPool, PinnedModel, PoolSpec, lane_token, logical_pool_name
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.refusing import Refused

MAX_LANES = 1024
"""Physical lanes of one cluster (§16.3): what demand may be recorded for, so that no caller can add to it."""
GPUS_VARIABLE = "SIE_GATEWAY_CONFIGURED_GPUS"
POOLS_VARIABLE = "SIE_GATEWAY_STATIC_QUEUE_POOLS"
ALIASES_VARIABLE = "SIE_GATEWAY_GPU_ALIASES"
LANES_VARIABLE = "SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES"
T = TypeVar("T")


class InvalidCatalogue(ValueError):
    """What the deployment says of itself cannot be; the message names the variable, the rule and the value."""


@attrs.frozen
class PoolRules:
    """What was deployed. Without any machine profile there, none is unknown. `queue_pools` has the default one too."""

    profiles: tuple[MachineProfile, ...] = ()
    queue_pools: tuple[PoolName, ...] = (DEFAULT_POOL,)
    lanes: tuple[Lane, ...] = ()
    aliases: Mapping[str, MachineProfile] = attrs.field(factory=dict)


def pool_rules(
    gpus: Iterable[str], queue_pools: Iterable[str], lanes: Iterable[str], aliases: Iterable[str] = ()
) -> PoolRules:
    """Raises InvalidCatalogue."""
    try:
        catalogue = tuple(map(_lane, lanes))
        declared = [MachineProfile(lane_token(text, GPUS_VARIABLE)) for text in gpus]
        static = [logical_pool_name(text, POOLS_VARIABLE) for text in queue_pools]
        renamed = dict(map(_alias, aliases))
    except InvalidPool as error:
        raise InvalidCatalogue(str(error)) from error
    if len(catalogue) > MAX_LANES:
        raise InvalidCatalogue(f"{LANES_VARIABLE} must list at most {MAX_LANES} lanes, not {len(catalogue)}")
    twice = next(_twice(catalogue), None)
    if twice is not None:
        raise InvalidCatalogue(f"{LANES_VARIABLE} must list each lane once, and lists {twice} again")
    profiles = sorted({*declared, *(lane.machine_profile for lane in catalogue)})
    astray = next((name for name in renamed.values() if profiles and name not in profiles), None)
    if astray is not None:
        raise InvalidCatalogue(f"{ALIASES_VARIABLE} must lead to one of {', '.join(profiles)}, not to {astray!r}")
    return PoolRules(tuple(profiles), tuple(dict.fromkeys((DEFAULT_POOL, *static))), catalogue, renamed)


def judge_pool(spec: PoolSpec, rules: PoolRules, snapshot: RegistrySnapshot) -> PoolSpec | Refused:
    """The spec with its models under the names that the registry has for them."""
    unknown = [profile for profile in spec.profiles if rules.profiles and profile not in rules.profiles]
    if spec.name in rules.queue_pools:
        return protected(spec.name)
    if unknown:
        known = ", ".join(rules.profiles)
        words = f"gpus names the machine profile {unknown[0]!r}, which must be one of: {known}"
        return Refused(
            ErrorCode.GPU_NOT_CONFIGURED, words, {"gpu": unknown[0], "configured_gpu_types": list(rules.profiles)}
        )
    if spec.queue_pool not in rules.queue_pools:
        words = f"queue_pool {spec.queue_pool!r} must be one of: {', '.join(rules.queue_pools)}"
        return Refused(ErrorCode.QUEUE_POOL_NOT_STATIC, words, {"queue_pool": spec.queue_pool})
    return _with_models(spec, snapshot)


def protected(name: PoolName) -> Refused:
    return Refused(ErrorCode.POOL_PROTECTED, f"the pool {name!r} is the cluster's own and stays as it is")


def _with_models(spec: PoolSpec, snapshot: RegistrySnapshot) -> PoolSpec | Refused:
    named = {model: snapshot.find(model) for model in spec.pinned_models}
    missing = [model for model, found in named.items() if found is None]
    if missing:
        words = f"pinned_models names {missing[0]!r}, and no registered model or profile has this name"
        return Refused(ErrorCode.PINNED_MODEL_NOT_FOUND, words, {"model": missing[0]})
    served = (PinnedModel(found.model.serving_id(found.profile)) for found in named.values() if found is not None)
    return attrs.evolve(spec, pinned_models=tuple(dict.fromkeys(served)))


def _lane(text: str) -> Lane:
    parts = text.split("/")
    if len(parts) != 3:
        raise InvalidPool(LANES_VARIABLE, text, "must list lanes as pool/profile/bundle")
    return Lane(
        logical_pool_name(parts[0], f"{LANES_VARIABLE} pool"),
        MachineProfile(lane_token(parts[1], f"{LANES_VARIABLE} profile")),
        BundleName(lane_token(parts[2], f"{LANES_VARIABLE} bundle")),
    )


def _alias(text: str) -> tuple[str, MachineProfile]:
    alias, equals, profile = text.partition("=")
    if not equals:
        raise InvalidPool(ALIASES_VARIABLE, text, "must list aliases as alias=profile")
    return lane_token(alias, f"{ALIASES_VARIABLE} alias"), MachineProfile(lane_token(profile, ALIASES_VARIABLE))


def _twice(values: Iterable[T]) -> Iterator[T]:
    """Each that was there before."""
    seen = set[T]()
    for value in values:
        if value in seen:
            yield value
        seen.add(value)
