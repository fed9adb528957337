"""Whatever is lost, repeated or reordered on the way, a replica ends equal to the authority within one poll (§4)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle import Bundle
from sie.domain.convergence import (
    Accepted,
    CatchUp,
    Delta,
    Ignored,
    InSync,
    Reading,
    Refused,
    Standing,
    StepBack,
    Trust,
    decide_poll,
    judge_delta,
)
from sie.domain.ids import BundleName, ModelId, ProfileName
from sie.domain.model import Model, Profile
from sie.domain.registry import RegistrySnapshot

BUNDLES = (Bundle(BundleName("alpha"), ("acme.a",)),)
TRUST = Trust(("sie-config",))
hashes = st.none() | st.sampled_from(["a", "b"])
readings = st.builds(Reading, st.integers(0, 4), hashes, hashes)
names = st.sampled_from(["m", "n"])
profiles = st.dictionaries(
    st.sampled_from(["default", "fast"]).map(ProfileName),
    st.builds(Profile, st.just("acme.a:C"), st.sampled_from([1, 2])),
    min_size=1,
)
models = st.builds(lambda name, found: Model(ModelId(name), found), names, profiles)


@given(readings, readings)
def test_a_poll_acts_just_when_a_known_signal_differs(local: Reading, remote: Reading) -> None:
    decision = decide_poll(local, remote)
    if remote.epoch < local.epoch:
        assert decision == StepBack(remote.epoch)
        return
    hashes_differ = any(
        theirs is not None and theirs != ours
        for theirs, ours in (
            (remote.bundles_hash, local.bundles_hash),
            (remote.bundle_config_hashes_hash, local.bundle_config_hashes_hash),
        )
    )
    assert isinstance(decision, CatchUp) == (remote.epoch > local.epoch or hashes_differ)
    assert isinstance(decision, CatchUp | InSync)


@given(st.lists(models, max_size=6), st.lists(st.integers(0, 11), max_size=12))
def test_what_was_not_noticed_at_once_the_next_poll_notices(writes: list[Model], heard: list[int]) -> None:
    """Every write is an append; the deltas arrive as `heard` says, some never and some twice."""
    authority, told = RegistrySnapshot.of(BUNDLES, ()), list[Delta]()
    for model in writes:
        held = authority.models.get(model.sie_id)
        merged = attrs.evolve(model, profiles={**model.profiles, **(held.profiles if held else {})})
        authority = authority.with_model(merged)
        told.append(Delta("sie-config-0", len(told) + 1, merged, "alpha", authority.hashes[BundleName("alpha")]))
    standing, doubted = Standing(RegistrySnapshot.of(BUNDLES, ()), 0, 0), False
    for number in (n for n in heard if n < len(told)):
        decision = judge_delta(standing, told[number], TRUST)
        doubted = doubted or isinstance(decision, Refused) or (isinstance(decision, Accepted) and bool(decision.doubt))
        if isinstance(decision, Accepted):
            assert decision.epoch >= standing.epoch
            standing = Standing(decision.snapshot, decision.epoch, 0)
    mine = Reading(standing.epoch, standing.snapshot.bundles_hash, standing.snapshot.bundle_config_hashes_hash)
    theirs = Reading(len(told), authority.bundles_hash, authority.bundle_config_hashes_hash)
    if decide_poll(mine, theirs) == InSync():
        assert standing.snapshot == authority
    if standing.snapshot != authority and standing.epoch == len(told):
        assert doubted


@given(st.text(max_size=12), st.integers(0, 9), models)
def test_a_stranger_changes_nothing(producer: str, epoch: int, model: Model) -> None:
    standing = Standing(RegistrySnapshot.of(BUNDLES, ()), 1, 0)
    decision = judge_delta(standing, Delta(producer, epoch, model), TRUST)
    is_ours = producer == "sie-config" or producer.startswith("sie-config-")
    assert isinstance(decision, Ignored) is not is_ours
    assert not isinstance(judge_delta(standing, Delta(producer, epoch, model), Trust((), anyone=True)), Ignored)


@given(models, models)
def test_a_delta_never_changes_what_stands(first: Model, second: Model) -> None:
    before = RegistrySnapshot.of(BUNDLES, [first])
    decision = judge_delta(Standing(before, 1, 0), Delta("sie-config", 2, second), TRUST)
    if isinstance(decision, Accepted):
        for name, profile in first.profiles.items():
            assert decision.snapshot.models[first.sie_id].profiles[name] == profile
