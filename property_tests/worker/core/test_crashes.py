"""Counts survive being written down, go up by one, and are forgotten when they are old or too many."""

from hypothesis import given
from hypothesis import strategies as st

from sie.testing import strategies as sie_st
from sie.worker.core.crashes import (
    MAX_AGE_S,
    MAX_KEPT,
    Crash,
    Crashes,
    crash_name,
    decode_crash,
    encode_crash,
    once_more,
    overdue,
)

crashes = st.builds(Crash, st.integers(1, 100), st.floats(0, 1e10))
keys = st.tuples(sie_st.texts, sie_st.texts)


@given(crashes)
def test_a_count_is_read_as_it_was_written(crash: Crash) -> None:
    assert decode_crash(encode_crash(crash)) == crash


@given(st.text())
def test_what_is_no_count_counts_for_nothing(text: str) -> None:
    read = decode_crash(text)
    assert read is None or read.count > 0


@given(keys, keys)
def test_two_items_share_no_name_and_a_name_is_a_files(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (crash_name(one) == crash_name(other)) == (one == other)
    assert crash_name(one).isalnum()


@given(crashes | st.none(), st.floats(0, 1e10))
def test_a_crash_adds_one_to_those_of_late(before: Crash | None, now_s: float) -> None:
    after = once_more(before, now_s=now_s)
    assert after.at_s == now_s
    assert after.count == (1 if before is None or before.is_old(now_s) else before.count + 1)


@given(st.dictionaries(st.text("abc", min_size=1), crashes), st.floats(0, 1e10))
def test_the_old_are_forgotten_and_no_others_while_there_are_few(kept: dict[str, Crash], now_s: float) -> None:
    assert set(overdue(kept, now_s=now_s)) == {n for n, crash in kept.items() if now_s - crash.at_s > MAX_AGE_S}


@given(st.integers(1, 50))
def test_of_too_many_the_oldest_are_forgotten(beyond: int) -> None:
    kept = {str(n): Crash(1, float(n)) for n in range(MAX_KEPT + beyond)}
    assert set(overdue(kept, now_s=0.0)) == {str(n) for n in range(beyond)}


@given(st.lists(keys, max_size=6), keys)
def test_a_count_is_found_by_its_item_until_it_is_forgotten(
    crashed: list[tuple[str, str]], asked: tuple[str, str]
) -> None:
    known = Crashes()
    known.learn({crash_name(key): Crash(2, 0.0) for key in crashed})
    assert known.count(asked) == (2 if asked in crashed else 0)
    assert bool(known.forget([crash_name(asked)])) == (asked in crashed)
    assert known.count(asked) == 0
    assert len(known) == len({*crashed} - {asked})
    assert known.find(crash_name(asked)) is None
    assert len(known.take_overdue(now_s=MAX_AGE_S + 1)) == len({*crashed} - {asked})
