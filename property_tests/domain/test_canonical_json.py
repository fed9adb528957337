"""The hashed text of a JSON value is the one that orjson writes with sorted keys (§7)."""

import json

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sie.domain.canonical_json import canonical_json
from sie.domain.model import Json
from sie.testing import strategies

CONTROLS: Json = {'\x00\x1f\x7f\b\t\n\f\r"\\/': "\u2028\ud7ff\ue000\U0001f600é"}


@given(strategies.json_values)
@example(CONTROLS)
@example(
    [1e16, 1e-5, 9.999e-5, 1e-6, 0.0001, 123456789012345678.0, 5e-324, 1.7976931348623157e308, -0.0, 1e22, -1.5e-5]
)
def test_it_is_what_orjson_writes_to_the_byte(value: Json) -> None:
    assert canonical_json(value).encode() == orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


@given(st.floats(allow_nan=False))
def test_a_float_is_written_as_orjson_writes_it(value: float) -> None:
    assert canonical_json(value).encode() == orjson.dumps(value)


@given(strategies.json_values)
@example(CONTROLS)
def test_it_reads_back_as_the_value_that_was_written(value: Json) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(strategies.texts, strategies.json_values, max_size=4))
def test_the_order_of_keys_is_not_part_of_it(value: dict[str, Json]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@given(strategies.json_values)
def test_a_tuple_is_a_list(value: Json) -> None:
    assert canonical_json((value, 1)) == canonical_json([value, 1])


@given(st.sampled_from((float("nan"), float("inf"), float("-inf"))))
def test_a_number_without_end_is_null_as_orjson_has_it(value: float) -> None:
    assert canonical_json(value) == "null"


@pytest.mark.parametrize("value", [b"bytes", {1: 2}, {1, 2}, object(), [b"inside"]])
def test_what_is_no_json_value_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="is no JSON value"):
        canonical_json(value)  # type: ignore[arg-type]  # the claim is about such values
