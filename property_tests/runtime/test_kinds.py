"""What one source writes for a setting means the same in every other, and what is shown reads back."""

import math
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sie.runtime.kinds import kind_of, shown
from sie.testing import strategies

WORDS = st.text("abc/.-_:0", min_size=1, max_size=5)
BLANKS = st.text(" \t\n", max_size=2)
NO_SCALAR = st.none() | st.booleans() | st.lists(st.none(), min_size=1) | st.dictionaries(WORDS, WORDS)


@pytest.mark.parametrize(
    ("annotation", "values"),
    [
        (str, WORDS),
        (int, st.integers()),
        (float, strategies.numbers),
        (bool, st.booleans()),
        (tuple[str, ...], st.lists(WORDS).map(tuple)),
        (Literal["memory", "file"], st.sampled_from(("memory", "file"))),
    ],
    ids=str,
)
@given(data=st.data())
def test_what_is_shown_of_a_value_reads_back_as_it(
    annotation: object, values: st.SearchStrategy[object], data: st.DataObject
) -> None:
    value = data.draw(values)
    before, after = data.draw(BLANKS), data.draw(BLANKS)
    assert kind_of(annotation).parse(f"{before}{shown(value)}{after}") == value
    assert kind_of(annotation).parse(value) == value


@given(st.lists(WORDS, max_size=4), BLANKS)
def test_a_list_means_the_same_with_commas_and_as_one_flag_after_another(words: list[str], blanks: str) -> None:
    kind = kind_of(tuple[str, ...])
    assert kind.parse(f"{blanks},".join(words)) == tuple(words)
    assert kind.parse(tuple(words)) == tuple(words)
    assert kind.parse((",".join(words),)) == tuple(words)


@given(NO_SCALAR)
@pytest.mark.parametrize("annotation", [str, int, float, Literal["memory", "file"]], ids=str)
def test_what_is_no_text_or_number_is_refused(annotation: object, value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        kind_of(annotation).parse(value)


@given(st.text())
@example("nan")
@example("-inf")
@example("1e999")
def test_a_number_is_finite_or_refused(text: str) -> None:
    try:
        number = kind_of(float).parse(text)
    except ValueError:
        return
    assert isinstance(number, float)
    assert math.isfinite(number)


@given(st.sampled_from(("true", "1", "yes", "on", "false", "0", "no", "off")), st.booleans(), BLANKS)
def test_true_and_false_have_four_spellings_each_in_any_case(word: str, upper: bool, blanks: str) -> None:
    spelt = f"{blanks}{word.upper() if upper else word}{blanks}"
    assert kind_of(bool).parse(spelt) is (word in {"true", "1", "yes", "on"})


@given(st.sampled_from((str, int, float, bool, tuple[str, ...])))
def test_a_type_that_may_be_none_reads_as_the_type_itself(annotation: type) -> None:
    plain, optional = kind_of(annotation), kind_of(annotation | None)
    assert (plain.optional, optional.optional) == (False, True)
    assert (plain.name, plain.parse) == (optional.name, optional.parse)
