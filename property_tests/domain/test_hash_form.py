"""The two forms of §7 leave out what they say and keep the rest (wire-facts 3.7)."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.hash_form import HashForm, hashed_options
from sie.domain.model import Json, Profile
from sie.testing import strategies

OPTIONS = st.none() | strategies.options | strategies.json_maps
LINEAGES = st.lists(st.builds(Profile, options=OPTIONS), min_size=1, max_size=3)
in_any_form = st.sampled_from(HashForm)


def of_one(options: Json, form: HashForm) -> Json:
    profile = Profile(options=options) if isinstance(options, Mapping) else Profile(odd_options=options)
    return hashed_options([profile], form)


@given(OPTIONS)
def test_the_reference_keeps_options_whole_or_not_at_all(options: Mapping[str, Json] | None) -> None:
    said = options if options and any(options.values()) else None
    assert of_one(options, HashForm.REFERENCE) == said


@given(OPTIONS)
def test_the_published_form_leaves_out_empty_maps_alone(options: Mapping[str, Json] | None) -> None:
    kept = {key: value for key, value in (options or {}).items() if value != {}}
    assert of_one(options, HashForm.SIE_0_10) == (kept if any(kept.values()) else None)


@given(LINEAGES)
def test_the_published_form_holds_no_empty_map_whatever_is_extended(lineage: list[Profile]) -> None:
    found = hashed_options(lineage, HashForm.SIE_0_10)
    assert found is None or (isinstance(found, Mapping) and {} not in found.values() and any(found.values()))


@given(LINEAGES, in_any_form)
def test_a_profile_without_options_hashes_as_what_it_extends(lineage: list[Profile], form: HashForm) -> None:
    assert hashed_options([*lineage, Profile()], form) == hashed_options(lineage, form)


@given(st.one_of(strategies.texts, st.integers(), st.booleans(), st.lists(strategies.json_scalars)), in_any_form)
def test_what_is_no_map_stands_as_it_is(options: Json, form: HashForm) -> None:
    assert of_one(options, form) == options


@given(st.dictionaries(strategies.texts, strategies.falsy), in_any_form)
def test_options_that_are_all_falsy_say_nothing_in_either(options: Mapping[str, Json], form: HashForm) -> None:
    assert of_one(options, form) is None
