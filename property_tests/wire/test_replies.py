"""Replies are whole documents in both forms (wire-facts 1.3)."""

import msgpack
import orjson
from hypothesis import given
from hypothesis import strategies as st

from sie.testing import strategies
from sie.wire.codec import pack, unpack
from sie.wire.ndarray import array_to_wire, arrays_to_lists
from sie.wire.replies import json_items_reply, json_scores_reply, msgpack_items_reply, msgpack_scores_reply

RESULTS = st.lists(
    st.builds(
        lambda array, item_id: {"id": item_id, "dense": {"dims": array.size, "values": array_to_wire(array)}},
        strategies.arrays.filter(lambda array: array.dtype.kind != "f"),
        strategies.texts,
    )
    | strategies.json_values,
    max_size=3,
)
ERRORS = st.lists(st.builds(lambda n, text: {"item_index": n, "error": text}, st.integers(0, 99), strategies.texts))


@given(strategies.model_ids, RESULTS, ERRORS)
def test_a_msgpack_reply_is_one_map_of_exactly_its_keys(
    model: str, results: list[object], errors: list[dict[str, object]]
) -> None:
    reply = unpack(msgpack_items_reply(model, list(map(pack, results)), errors))
    assert isinstance(reply, dict)
    assert list(reply) == ["model", "items", *(["errors"] if errors else [])]
    assert (reply["model"], reply["items"], reply.get("errors", [])) == (model, results, errors)


@given(strategies.model_ids, RESULTS, ERRORS)
def test_the_two_forms_of_a_reply_say_the_same(
    model: str, results: list[object], errors: list[dict[str, object]]
) -> None:
    blobs = [msgpack.packb(result) for result in results]
    packed = unpack(msgpack_items_reply(model, blobs, errors))
    assert orjson.loads(json_items_reply(model, blobs, errors)) == arrays_to_lists(packed)


@given(strategies.model_ids, st.lists(strategies.json_maps, max_size=3))
def test_scores_are_spliced_in_as_they_are(model: str, scores: list[dict[str, object]]) -> None:
    packed = unpack(msgpack_scores_reply(model, pack(scores)))
    assert packed == {"model": model, "scores": scores} == orjson.loads(json_scores_reply(model, pack(scores)))
