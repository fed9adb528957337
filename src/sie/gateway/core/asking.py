"""What does a request say of where it wants to go (§2, wire-facts 4.3)? Its path and two headers, made canonical. Pure.

`X-SIE-Machine-Profile` may be `pool/profile`; an `X-SIE-Pool` beside it is the one that counts.
"""

from collections.abc import Mapping

import msgspec

from sie.domain.errors import ErrorCode
from sie.domain.ids import BundleName, MachineProfile, PoolName
from sie.domain.model_spec import InvalidSpec, parse_spec
from sie.domain.pool import InvalidPool, lane_token, logical_pool_name
from sie.gateway.core.pool_rules import PoolRules
from sie.gateway.core.refusing import Refused

POOL_HEADER = "x-sie-pool"
PROFILE_HEADER = "x-sie-machine-profile"
SPOT = "-spot"
"""What a machine profile that is told without it may end in (wire-facts 4.3)."""


class Asked(msgspec.Struct, frozen=True):
    """What the request left open is None."""

    serving_id: str
    bundle: BundleName | None = None
    pool: PoolName | None = None
    profile: MachineProfile | None = None


def read_asked(model: str, headers: Mapping[str, str], rules: PoolRules) -> Asked | Refused:
    """`model` is `[bundle:/]org/name[:profile]` as the path has it."""
    try:
        spec = parse_spec(model)
    except InvalidSpec as error:
        return Refused(ErrorCode.INVALID_REQUEST, str(error))
    before, slash, after = headers.get(PROFILE_HEADER, "").rpartition("/")
    pool_text = headers.get(POOL_HEADER, "").strip() or (before if slash else "")
    pool = _pool(pool_text) if pool_text else None
    if isinstance(pool, Refused):
        return pool
    profile = profile_of(after, rules) if after.strip() else None
    if isinstance(profile, Refused):
        return profile
    bundle = None if spec.bundle is None else BundleName(spec.bundle)
    return Asked(spec.serving_id, bundle, pool, profile)


def profile_of(text: str, rules: PoolRules) -> MachineProfile | Refused:
    """An alias, a profile that was deployed, or one of its spot kind; where nothing was deployed, any (§16.3)."""
    told = text.strip().lower()
    aliased = rules.aliases.get(told)
    if aliased is not None:
        return aliased
    for name in (told, f"{told}{SPOT}"):
        if name in rules.profiles:
            return MachineProfile(name)
    if rules.profiles:
        known = ", ".join(rules.profiles)
        return not_configured(text, f"{text!r} is no machine profile here; it must be one of: {known}", rules.profiles)
    try:
        return MachineProfile(lane_token(text, PROFILE_HEADER))
    except InvalidPool as error:
        return not_configured(text, str(error), ())


def not_configured(gpu: str, words: str, known: tuple[MachineProfile, ...]) -> Refused:
    return Refused(ErrorCode.GPU_NOT_CONFIGURED, words, {"gpu": gpu, "configured_gpu_types": list(known)})


def no_pool(name: str) -> Refused:
    return Refused(ErrorCode.POOL_NOT_FOUND, f"Pool not found: {name}", {"pool": name})


def _pool(text: str) -> PoolName | Refused:
    """What can be no pool's name is none's."""
    try:
        return logical_pool_name(text)
    except InvalidPool:
        return no_pool(text)
