"""Label selectors choose what their words say, and nonsense is refused."""

from hypothesis import given
from hypothesis import strategies as st

from sie.testing.kube.selecting import BadSelector, Selector, parse_selector

keys, values = st.sampled_from(("a", "b.c/d", "e")), st.sampled_from(("x", "y", "z-1"))
labels = st.dictionaries(keys, values)


@given(labels, keys, values, values)
def test_each_form_says_what_it_means(words: dict[str, str], key: str, one: str, two: str) -> None:
    document = {"metadata": {"labels": words}}
    meaning = {
        f"{key}={one}": words.get(key) == one,
        f"{key}=={one}": words.get(key) == one,
        f"{key} != {one}": words.get(key) != one,
        f"{key} in ({one},{two})": words.get(key) in (one, two),
        f"{key} notin ( {one}, {two} )": words.get(key) not in (one, two),
        key: key in words,
        f"!{key}": key not in words,
    }
    assert {text: parse_selector(text, "").chooses(document) for text in meaning} == meaning


@given(labels, st.lists(st.tuples(keys, values), max_size=3))
def test_a_comma_means_and(words: dict[str, str], wanted: list[tuple[str, str]]) -> None:
    selector = parse_selector(",".join(f"{key}={value}" for key, value in wanted), "")
    assert selector.chooses({"metadata": {"labels": words}}) is all(words.get(key) == value for key, value in wanted)


@given(st.text("a=!,() in", max_size=12), st.text("metadata.name=,", max_size=20))
def test_any_text_is_a_selector_or_is_refused(text: str, fields: str) -> None:
    try:
        selector = parse_selector(text, fields)
    except BadSelector:
        return
    assert isinstance(selector, Selector)
    assert selector.chooses({}) in (True, False)
