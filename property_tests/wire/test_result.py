"""Results are read as they were written (§16.2, wire-facts 2.3)."""

from hypothesis import given

from sie.testing import message_strategies, strategies
from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, structure
from sie.wire.result import WorkResult, decode_result, decode_usual_result, encode_result
from tests.wire.refusals import problems_of, with_each_field_wrong


@given(message_strategies.work_results)
def test_decoding_undoes_encoding(result: WorkResult) -> None:
    assert decode_result(encode_result(result)) == result


@given(message_strategies.work_results)
def test_what_is_not_known_is_not_written(result: WorkResult) -> None:
    written = unpack(encode_result(result))
    assert isinstance(written, dict)
    assert None not in written.values()
    assert {"work_item_id", "request_id", "item_index", "success"} <= set(written)


@given(message_strategies.work_results, strategies.json_maps)
def test_the_keys_of_a_newer_peer_are_tolerated(result: WorkResult, more: dict[str, object]) -> None:
    written = unpack(encode_result(result))
    assert isinstance(written, dict)
    assert decode_result(pack({**{f"new_{key}": value for key, value in more.items()}, **written})) == result


@given(message_strategies.work_results)
def test_a_value_of_the_wrong_type_is_refused_with_its_place(result: WorkResult) -> None:
    for name, data in with_each_field_wrong(encode_result(result)):
        assert [p.loc[0] for p in problems_of(decode_result, data)] == [name]


@given(message_strategies.work_results)
def test_the_quick_way_reads_the_same(result: WorkResult) -> None:
    data = encode_result(result)
    assert decode_usual_result(data) == structure(TOLERANT, unpack(data), WorkResult) == result
