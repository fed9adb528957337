"""Reading row by row gives what reading at once gives, refusals too."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sie.wire.configs_api import read_export
from sie.wire.converters import WireError
from sie.wire.export_reading import read_export_bytes, read_export_parts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)
rows = st.fixed_dictionaries(
    {"model_id": st.text(max_size=4)}, optional={"model_config": values, "pool": st.just("default"), "more": values}
)
exports = st.fixed_dictionaries(
    {"epoch": st.integers(0, 9)}, optional={"models": st.lists(rows | values, max_size=4), "generated_at": values}
)


def outcome(read: object) -> object:
    try:
        return read() if callable(read) else None
    except WireError as error:
        return [problem.loc for problem in error.problems]


@given(st.one_of(exports, values), st.sampled_from([None, 1]), st.permutations(["epoch", "models", "generated_at"]))
def test_row_by_row_is_the_same(export: object, indent: int | None, order: list[str]) -> None:
    if isinstance(export, dict):
        export = {key: export[key] for key in (*order, *export) if key in export}
    whole, by_rows = outcome(lambda: read_export(export)), outcome(lambda: read_export_bytes(encoded(export, indent)))
    if isinstance(whole, list) or isinstance(by_rows, list):
        assert isinstance(whole, list)
        assert isinstance(by_rows, list)
    else:
        assert by_rows == whole


def encoded(value: object, indent: int | None) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")


@given(exports, st.data())
def test_a_text_that_ends_early_or_late_is_refused(export: object, data: st.DataObject) -> None:
    text = encoded(export, None)
    end = data.draw(st.integers(0, len(text) - 1))
    assert isinstance(outcome(lambda: read_export_bytes(text[:end])), list)
    assert isinstance(outcome(lambda: read_export_bytes(text + b" x")), list)


@given(st.one_of(exports, values), st.sampled_from([None, 1]), st.lists(st.integers(1, 9), max_size=60))
def test_parts_of_any_size_say_the_same(export: object, indent: int | None, sizes: list[int]) -> None:
    text = encoded(export, indent)
    ends = [sum(sizes[:count]) for count in range(len(sizes) + 1)]
    parts = [text[start:end] for start, end in zip(ends, [*ends[1:], len(text)], strict=True)]
    assert outcome(lambda: read_export_parts(parts)) == outcome(lambda: read_export_bytes(text))


@given(st.sampled_from([b"-12.5e+3", b"1e5", b"0.25", b"-0", b"1E-2", b"120"]), st.data())
def test_a_number_that_is_cut_is_read_whole(number: bytes, data: st.DataObject) -> None:
    text = b'{"models": [{"model_id": "a", "model_config": ' + number + b'}], "epoch": 120, "other": ' + number + b"}"
    cut = data.draw(st.integers(0, len(text)))
    assert read_export_parts([text[:cut], b"", text[cut:]]) == read_export_bytes(text)
    assert read_export_parts([text[at : at + 1] for at in range(len(text))]) == read_export_bytes(text)
