"""An append never changes what stands; done again it does nothing; apart from each other, two come out the same."""

from hypothesis import given
from hypothesis import strategies as st

from sie.config.core.merge import Config, Conflict, Merged, append, is_same, profiles_of
from sie.domain.model import Json

values: st.SearchStrategy[Json] = st.sampled_from([None, 0, 1, 1.0, True, "x", {"a": 1}])
profiles: st.SearchStrategy[Json] = st.dictionaries(
    st.sampled_from(["default", "fast", "big"]), st.dictionaries(st.sampled_from(["extends", "n"]), values), max_size=3
)
documents: st.SearchStrategy[Config] = st.fixed_dictionaries(
    {"sie_id": st.just("m"), "profiles": profiles}, optional={"hf_id": values, "pool": values}
)


@given(documents, documents)
def test_what_stands_stands(stored: Config, incoming: Config) -> None:
    merged = append(stored, incoming)
    if isinstance(merged, Conflict):
        assert merged.profiles or merged.fields
        return
    assert set(merged.created) | set(merged.skipped) == set(profiles_of(incoming))
    for key in (key for key in stored if key != "profiles"):
        assert is_same(merged.config[key], stored[key])
    for name, profile in profiles_of(stored).items():
        assert is_same(profiles_of(merged.config)[name], profile)
    for name, profile in profiles_of(incoming).items():
        assert is_same(profiles_of(merged.config)[name], profile)


@given(documents, documents)
def test_appending_again_creates_nothing(stored: Config, incoming: Config) -> None:
    merged = append(stored, incoming)
    if isinstance(merged, Merged):
        again = append(merged.config, incoming)
        assert isinstance(again, Merged)
        assert again.created == ()
        assert is_same(again.config, merged.config)


@given(documents, documents)
def test_two_appends_that_agree_commute(one: Config, other: Config) -> None:
    first, second = append(one, other), append(other, one)
    if isinstance(first, Merged) and isinstance(second, Merged):
        assert is_same(first.config, second.config)
    else:
        assert isinstance(first, Conflict)
        assert isinstance(second, Conflict)


def test_one_and_true_are_two_values() -> None:
    assert not is_same(1, True)
    assert not is_same(1, 1.0)
    assert is_same({"a": 1, "b": [None]}, {"b": [None], "a": 1})
