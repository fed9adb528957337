"""Whatever is put in and taken out, the rows are those of a plain map, sorted, and only one segment is made anew."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain import joined_rows
from sie.domain.ids import ModelId
from sie.domain.joined_rows import JoinedRows

ids = st.integers(0, 30).map(lambda number: ModelId(f"m{number:02d}"))
texts = st.integers(0, 9).map(lambda number: b'{"n":%d}' % number)
changes = st.lists(st.tuples(ids, st.none() | texts), max_size=40)


def whole(rows: JoinedRows) -> bytes:
    return b"".join(rows.chunks)


@given(st.dictionaries(ids, texts), changes)
def test_rows_are_those_of_a_sorted_map(
    start: dict[ModelId, bytes], changed: list[tuple[ModelId, bytes | None]]
) -> None:
    rows, plain = JoinedRows.of(start), dict(start)
    for sie_id, row in changed:
        rows = rows.with_row(sie_id, row) if row is not None else rows.without_row(sie_id)
        plain.pop(sie_id, None)
        plain.update({sie_id: row} if row is not None else {})
        assert whole(rows) == b",".join(plain[key] for key in sorted(plain))
        assert all(segment.rows for segment in rows.segments)


def test_a_write_shares_every_segment_but_its_own() -> None:
    size = joined_rows.SEGMENT_ROWS
    rows = JoinedRows.of({ModelId(f"m{number:05d}"): b"{}" for number in range(4 * size)})
    after = rows.with_row(ModelId("m00001x"), b"[]")
    assert [one is other for one, other in zip(rows.segments, after.segments, strict=True)] == [False, True, True, True]
    assert whole(after) == b",".join([b"{}", b"{}", b"[]"] + [b"{}"] * (4 * size - 2))


def test_a_segment_is_split_before_it_has_grown_to_twice_its_size() -> None:
    rows = JoinedRows()
    for number in range(5 * joined_rows.SEGMENT_ROWS):
        rows = rows.with_row(ModelId(f"m{number:05d}"), b"{}")
    assert max(len(segment.rows) for segment in rows.segments) < 2 * joined_rows.SEGMENT_ROWS
    assert len(rows.segments) <= 5
