"""Whatever lies among the dead letters, a person can list and read it (§8)."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from property_tests.wire.test_dead_letter import letters
from sie.cli.dlq_words import HEAD, Kept, readable, row_of, table, whole
from sie.testing import message_strategies
from sie.wire.dead_letter import DeadLetter, dead_letter
from sie.wire.work import WorkItem, encode_work

AT = datetime(2026, 11, 30, 12, 51, 39, 553248, UTC)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5) | st.binary(max_size=5), inner),
    max_leaves=6,
)


def kept(letter: DeadLetter | None, problem: str = "") -> Kept:
    return Kept(seq=3, at=AT, subject="sie.dlq.acme__small", letter=letter, problem=problem)


@given(anything)
def test_whatever_a_work_item_holds_has_a_form_in_json(value: object) -> None:
    json.dumps(readable(value), allow_nan=False)


@given(letters)
def test_every_letter_can_be_listed_and_shown(letter: DeadLetter) -> None:
    row = row_of(kept(letter))
    assert (row.seq, row.model, row.deliveries) == (3, "acme__small", letter.advisory.deliveries)
    json.dumps(whole(kept(letter), letter.work), allow_nan=False)


@given(letters, message_strategies.work_items)
def test_a_row_tells_what_was_asked_for_and_by_which_request(letter: DeadLetter, item: WorkItem) -> None:
    row = row_of(kept(dead_letter(letter.advisory, letter.subject, encode_work(item))))
    assert (row.operation, row.request_id, row.work_item_id) == (item.operation, item.request_id, item.work_item_id)


@given(st.text(max_size=30))
def test_a_letter_that_cannot_be_read_is_listed_with_the_reason(problem: str) -> None:
    assert row_of(kept(None, problem)).why == problem
    assert whole(kept(None, problem), None)["problem"] == problem


@given(st.lists(letters, max_size=3), st.text(max_size=30))
def test_a_table_has_one_printable_line_a_letter(found: list[DeadLetter], problem: str) -> None:
    lines = table([row_of(kept(letter)) for letter in found] + [row_of(kept(None, problem))])
    assert len(lines) == len(found) + 2
    assert lines[0].split() == list(HEAD)
    assert all(line.isprintable() for line in lines)
