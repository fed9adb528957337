"""A spec is judged by what was deployed and registered; a deployment that cannot be is refused whole (§16.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.errors import ErrorCode
from sie.domain.ids import DEFAULT_POOL, MachineProfile, PoolName
from sie.domain.pool import PinnedModel, PoolSpec
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.pool_rules import (
    InvalidCatalogue,
    PoolRules,
    judge_pool,
    pool_rules,
    protected,
)
from sie.gateway.core.refusing import Refused
from sie.testing import strategies

NOTHING = RegistrySnapshot.empty()
TOKENS = st.text("aZ0_-", min_size=1, max_size=4)
POOLS = TOKENS.filter(lambda text: text.lower() != "_default")
LANES = st.tuples(POOLS, TOKENS, TOKENS).map("/".join)
RULES = st.builds(
    PoolRules,
    st.sets(st.sampled_from(pool_strategies.PROFILES).map(MachineProfile)).map(sorted).map(tuple),
    st.sampled_from(((DEFAULT_POOL,), (DEFAULT_POOL, PoolName("static")), (DEFAULT_POOL, PoolName("a")))),
)


@given(pool_strategies.specs(), RULES)
def test_a_spec_is_refused_for_the_first_rule_that_it_breaks(spec: PoolSpec, rules: PoolRules) -> None:
    judged = judge_pool(spec, rules, NOTHING)
    code = judged.code if isinstance(judged, Refused) else None
    if spec.name in rules.queue_pools:
        assert judged == protected(spec.name)
    elif rules.profiles and not set(spec.profiles) <= set(rules.profiles):
        assert code == ErrorCode.GPU_NOT_CONFIGURED
    elif spec.queue_pool not in rules.queue_pools:
        assert code == ErrorCode.QUEUE_POOL_NOT_STATIC
    else:
        assert judged == spec


@given(strategies.snapshots, st.data())
def test_pinned_models_have_the_registrys_own_names(snapshot: RegistrySnapshot, data: st.DataObject) -> None:
    served = [name.model.serving_id(name.profile) for name in snapshot.serving.values()]
    asked = data.draw(st.lists(st.sampled_from((*served, "nobody/knows")), max_size=4))
    spellings = [data.draw(st.sampled_from((name, name.upper(), f"{name}:default"))) for name in asked]
    spec = PoolSpec(PoolName("acme"), pinned_models=tuple(map(PinnedModel, spellings)))
    judged = judge_pool(spec, PoolRules(), snapshot)
    if isinstance(judged, Refused):
        assert judged.code == ErrorCode.PINNED_MODEL_NOT_FOUND
        assert snapshot.find(str(judged.extra["model"])) is None
    else:
        found = [snapshot.find(name) for name in spellings]
        expected = [name.model.serving_id(name.profile) for name in found if name is not None]
        assert list(judged.pinned_models) == list(dict.fromkeys(expected))
        assert judge_pool(judged, PoolRules(), snapshot) == judged


@given(st.lists(TOKENS, max_size=3), st.lists(POOLS, max_size=3), st.lists(LANES, max_size=4, unique_by=str.lower))
def test_what_was_deployed_is_read_in_lower_case(gpus: list[str], pools: list[str], lanes: list[str]) -> None:
    rules = pool_rules(gpus, pools, lanes)
    assert list(map(str, rules.lanes)) == [lane.lower() for lane in lanes]
    assert set(rules.profiles) == {gpu.lower() for gpu in gpus} | {lane.lower().split("/")[1] for lane in lanes}
    assert rules.queue_pools[0] == DEFAULT_POOL
    assert set(rules.queue_pools[1:]) == {pool.lower() for pool in pools} - {DEFAULT_POOL}


@given(LANES, st.sampled_from(("{}/more", "{}/", "/{}", "{} x", "{}.x")))
def test_a_lane_of_another_form_is_refused(lane: str, form: str) -> None:
    with pytest.raises(InvalidCatalogue, match="SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES"):
        pool_rules((), (), [form.format(lane)])


@given(LANES)
def test_a_lane_in_two_cases_is_one_lane_twice(lane: str) -> None:
    with pytest.raises(InvalidCatalogue, match="each lane once"):
        pool_rules((), (), [lane.upper(), lane.lower()])


@pytest.mark.parametrize(
    ("aliases", "problem"),
    [
        (["l4"], "must list aliases as alias=profile"),
        (["big=h100"], "must lead to one of a100, l4, not to 'h100'"),
        (["no alias=l4"], "SIE_GATEWAY_GPU_ALIASES alias must be 1 to 63"),
    ],
)
def test_an_alias_leads_to_a_profile_that_was_deployed(aliases: list[str], problem: str) -> None:
    with pytest.raises(InvalidCatalogue) as told:
        pool_rules(["l4", "a100"], [], [], aliases)
    assert problem in str(told.value)


def test_aliases_are_lower_case_and_free_where_nothing_was_deployed() -> None:
    assert pool_rules([], [], [], ["Big=H100"]).aliases == {"big": "h100"}
