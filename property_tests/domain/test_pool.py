"""A pool spec is canonical or refused, and a lease ends when its time is over and not before (§16.3)."""

import re
from collections.abc import Callable

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import PoolName, machine_profile, pool_name
from sie.domain.pool import (
    DEFAULT_TTL_S,
    MAX_NAME,
    MAX_TTL_S,
    MAX_WORKERS_ASKED,
    InvalidPool,
    Pool,
    PoolSpec,
    lane_token,
    logical_pool_name,
    pool_spec,
    protected_spec,
)

NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}\Z")
NEARLY_NAMES = st.text(st.sampled_from("aZ09._-/ é"), max_size=6) | st.text() | st.integers(60, 130).map("a".__mul__)
COUNTS = st.integers(-2, 5) | st.sampled_from((MAX_WORKERS_ASKED, MAX_WORKERS_ASKED + 1, -(10**30)))
TTLS = st.none() | st.integers(-1, 3) | st.sampled_from((MAX_TTL_S, MAX_TTL_S + 1, 10**12))
PROFILES = st.dictionaries(st.sampled_from(("l4", "L4", "a100", "a.b", "", "x" * 64)), COUNTS, max_size=3)
NAMES = st.sampled_from(("acme", "ACME", "a b", "a.b", "_default", "default", "x" * 64, "x" * 63))


def refusal_of(make: Callable[[], object]) -> InvalidPool | None:
    try:
        make()
    except InvalidPool as error:
        return error
    return None


@given(NEARLY_NAMES, st.sampled_from(("name", "queue_pool")))
def test_a_pool_name_is_a_token_of_63_characters_in_lower_case(text: str, field: str) -> None:
    stripped = text.strip()
    fits = NAME.match(stripped) is not None and stripped.lower() != "_default"
    refusal = refusal_of(lambda: logical_pool_name(text, field))
    if refusal is not None:
        assert not fits
        assert (refusal.field, refusal.value) == (field, text)
        assert str(refusal).startswith(f"{field} must be ")
    else:
        assert fits
        name = logical_pool_name(text)
        assert name == stripped.lower() == pool_name(text) == logical_pool_name(name)


@given(NEARLY_NAMES)
def test_a_lane_token_is_canonical_or_refused(text: str) -> None:
    refusal = refusal_of(lambda: lane_token(text, "bundle"))
    assert (refusal is None) == bool(NAME.match(text.strip()))
    if refusal is None:
        token = lane_token(text, "bundle")
        assert token == lane_token(token, "bundle") == machine_profile(token) == text.strip().lower()
    else:
        assert (refusal.field, refusal.value) == ("bundle", text)


@given(NAMES, PROFILES, PROFILES, NAMES | st.none(), NAMES | st.none(), TTLS, COUNTS)
def test_a_spec_keeps_every_rule_or_the_refusal_names_field_and_value(
    name: str,
    gpus: dict[str, int],
    caps: dict[str, int],
    bundle: str | None,
    queue_pool: str | None,
    ttl: int | None,
    floor: int,
) -> None:
    def make() -> PoolSpec:
        return pool_spec(
            name,
            gpus=gpus,
            gpu_caps=caps,
            bundle=bundle,
            queue_pool=queue_pool,
            ttl_seconds=ttl,
            minimum_worker_count=floor,
        )

    refusal = refusal_of(make)
    if refusal is not None:
        assert str(refusal).startswith(f"{refusal.field} must ")
    else:
        spec = make()
        assert (spec.name, spec.gpus, spec.gpu_caps) == (
            name.lower(),
            {profile.lower(): count for profile, count in gpus.items()},
            {profile.lower(): count for profile, count in caps.items()},
        )
        assert all(spec.gpus.get(profile, 0) <= cap for profile, cap in spec.gpu_caps.items())
        assert list(spec.profiles) == sorted({*spec.gpus, *spec.gpu_caps})
        assert spec.ttl_s == (DEFAULT_TTL_S if ttl is None else ttl)
        assert 1 <= spec.ttl_s <= MAX_TTL_S
        assert all(0 <= count <= MAX_WORKERS_ASKED for count in (floor, *gpus.values(), *caps.values()))
        assert again(spec) == spec


def again(spec: PoolSpec) -> PoolSpec:
    return pool_spec(
        spec.name,
        gpus={str(profile): count for profile, count in spec.gpus.items()},
        gpu_caps={str(profile): cap for profile, cap in spec.gpu_caps.items()},
        bundle=spec.bundle,
        queue_pool=spec.queue_pool,
        ttl_seconds=spec.ttl_seconds,
        minimum_worker_count=spec.minimum_worker_count,
        pinned_models=spec.pinned_models,
    )


@given(st.integers(1, MAX_TTL_S), st.lists(st.floats(0, 10**9), min_size=1), st.floats(0, 10**9))
def test_a_lease_ends_its_time_after_the_latest_renewal(ttl: int, renewals: list[float], now_s: float) -> None:
    pool = Pool(pool_spec("a", gpus={}, gpu_caps={}, ttl_seconds=ttl), renewals[0], renewals[0])
    for at_s in renewals:
        pool = pool.renewed(at_s)
    assert pool.created_s == renewals[0]
    assert pool.is_expired(now_s) == (now_s >= max(renewals) + ttl)


@given(st.floats(0, 10**12), st.sampled_from(("default", "team")).map(PoolName))
def test_a_protected_pool_never_ends_and_asks_for_nothing(now_s: float, name: PoolName) -> None:
    pool = Pool(protected_spec(name), 0.0, 0.0, is_protected=True)
    assert not pool.is_expired(now_s)
    assert pool.spec == PoolSpec(name, queue_pool=name)
    assert attrs.evolve(pool, is_protected=False).is_expired(now_s) == (now_s >= DEFAULT_TTL_S)
