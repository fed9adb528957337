"""Work items are read as they were written (§16.2, wire-facts 2.2)."""

import attrs
from hypothesis import given

from sie.testing import message_strategies, strategies
from sie.wire.codec import pack, unpack
from sie.wire.work import TRACE, WorkItem, decode_work, encode_work
from tests.wire.refusals import problems_of, with_each_field_wrong


@given(message_strategies.work_items)
def test_decoding_undoes_encoding(item: WorkItem) -> None:
    assert decode_work(encode_work(item)) == item


@given(message_strategies.work_items)
def test_every_key_is_written(item: WorkItem) -> None:
    written = unpack(encode_work(item))
    assert isinstance(written, dict)
    unsaid = {name for name in TRACE if getattr(item, name) is None}
    assert set(written) == {field.name for field in attrs.fields(WorkItem)} - unsaid


@given(message_strategies.work_items, strategies.json_maps)
def test_the_keys_of_a_newer_peer_are_tolerated(item: WorkItem, more: dict[str, object]) -> None:
    written = unpack(encode_work(item))
    assert isinstance(written, dict)
    assert decode_work(pack({**{f"new_{key}": value for key, value in more.items()}, **written})) == item


@given(message_strategies.work_items)
def test_a_value_of_the_wrong_type_is_refused_with_its_place(item: WorkItem) -> None:
    for name, data in with_each_field_wrong(encode_work(item)):
        assert [p.loc[0] for p in problems_of(decode_work, data)] == [name]
