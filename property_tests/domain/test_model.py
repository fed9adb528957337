"""`extends` is resolved once, for every consumer alike, and never for ever (wire-facts 3.6 and 3.7)."""

from itertools import pairwise

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import DEFAULT_PROFILE, ModelId, ProfileName
from sie.domain.model import Json, Model, Profile
from sie.testing import strategies

CHAIN = 5_000  # far more than a recursion could follow


def ends(model: Model, name: ProfileName) -> bool:
    """Does following `extends` reach a profile that extends nothing? By counting, unlike the code."""
    at: ProfileName | None = name
    for _ in range(len(model.profiles) + 1):
        profile = model.profiles.get(at) if at else None
        if profile is None:
            return False
        if profile.extends is None:
            return True
        at = profile.extends
    return False


@given(strategies.models, st.sampled_from((*strategies.PROFILES, strategies.MISSING_PROFILE)).map(ProfileName))
def test_a_profile_resolves_exactly_if_what_it_extends_ends(model: Model, name: ProfileName) -> None:
    assert (model.effective(name) is not None) == ends(model, name)


@given(strategies.models)
def test_what_a_profile_sets_itself_wins(model: Model) -> None:
    for name, own in model.profiles.items():
        if (effective := model.effective(name)) is not None:
            assert effective.extends is None
            assert own.adapter_path in (None, effective.adapter_path)
            assert own.max_batch_tokens in (None, effective.max_batch_tokens)
            assert own.compute_precision in (None, effective.compute_precision)


@given(strategies.models)
def test_what_a_profile_leaves_open_is_what_it_extends(model: Model) -> None:
    for name, own in model.profiles.items():
        effective = model.effective(name)
        parent = model.effective(own.extends) if own.extends else None
        if effective is not None and parent is not None:
            assert effective.adapter_path == (own.adapter_path or parent.adapter_path)
            assert effective.compute_precision == (own.compute_precision or parent.compute_precision)
            assert own.options or effective.options == parent.options


@given(strategies.profiles, strategies.options, strategies.options)
def test_each_option_map_of_a_child_replaces_its_parents_whole_or_not_at_all(
    base: Profile, parent: dict[str, Json], child: dict[str, Json]
) -> None:
    model = Model(
        sie_id=ModelId("acme/one"),
        profiles={
            ProfileName("p"): attrs.evolve(base, extends=None, options=parent),
            ProfileName("c"): Profile(options=child, extends=ProfileName("p")),
        },
    )
    effective = model.effective(ProfileName("c"))
    assert effective is not None
    merged = effective.options or {}
    for key in ("loadtime", "runtime"):
        assert merged.get(key) == (child.get(key) or parent.get(key))


def test_a_long_chain_of_profiles_is_followed_to_its_end() -> None:
    names = [ProfileName(f"p{n}") for n in range(CHAIN)]
    links = {name: Profile(extends=parent) for name, parent in pairwise(names)}
    model = Model(sie_id=ModelId("acme/one"), profiles={**links, names[-1]: Profile(max_batch_tokens=7)})
    effective = model.effective(names[0])
    assert effective is not None
    assert effective.max_batch_tokens == 7


@given(strategies.models)
def test_only_the_default_profile_is_served_under_the_bare_id(model: Model) -> None:
    for name in model.profiles:
        assert (model.serving_id(name) == model.sie_id) == (name == DEFAULT_PROFILE)
        assert model.serving_id(name).startswith(model.sie_id)


@given(strategies.profiles)
def test_the_module_is_what_stands_before_the_class(profile: Profile) -> None:
    if profile.adapter_path is None:
        assert profile.module is None
    else:
        assert profile.adapter_path.startswith(f"{profile.module}:")
