"""Work items are read as they were written (§16.2, wire-facts 2.2)."""

from collections.abc import Callable

import attrs
import msgpack
from hypothesis import given
from hypothesis import strategies as st

from sie.testing import message_strategies, strategies
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError
from sie.wire.work import TRACE, Stencil, WorkItem, decode_work, encode_work
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


def the_long_way(item: WorkItem) -> bytes:
    """As `encode_work` did it before it was quick."""
    values = {field.name: getattr(item, field.name) for field in attrs.fields(WorkItem)}
    return pack({name: value for name, value in values.items() if value is not None or name not in TRACE})


@given(message_strategies.work_items)
def test_the_quick_way_writes_the_same_bytes(item: WorkItem) -> None:
    assert encode_work(item) == the_long_way(item)


ODD = st.sampled_from([msgpack.ExtType(5, b"a"), msgpack.Timestamp(1, 2), (1, 2), 2**64, "\ud800", {1: 2}, {b"a": 1}])


@given(message_strategies.work_items, ODD, st.integers(0, 40))
def test_what_the_quick_way_does_not_take_is_written_or_refused_as_ever(item: WorkItem, odd: object, deep: int) -> None:
    for _ in range(deep):
        odd = [odd]
    work = attrs.evolve(item, item={"text": "a", "more": odd})
    assert told_or_written(encode_work, work) == told_or_written(the_long_way, work)


@given(message_strategies.work_items, st.lists(strategies.items | st.none(), max_size=3), ODD, st.integers(0, 40))
def test_a_stencil_writes_each_item_as_it_is_written_by_itself(
    first: WorkItem, inputs: list[dict[str, object] | None], odd: object, deep: int
) -> None:
    for _ in range(deep):
        odd = [odd]
    stencil = Stencil.of(first)
    for index, item in enumerate([*inputs, {"text": "a", "more": odd}]):
        alone = stencil.item(f"r.{index}", index, item)
        assert (alone.work_item_id, alone.item_index, alone.item) == (f"r.{index}", index, item)
        written = told_or_written(lambda work: stencil.encode(work.work_item_id, work.item_index, work.item), alone)
        assert written == told_or_written(the_long_way, alone)


@given(message_strategies.work_items, ODD)
def test_a_stencil_of_what_the_quick_way_does_not_take_writes_or_refuses_it_as_ever(
    first: WorkItem, odd: object
) -> None:
    stencil = Stencil.of(attrs.evolve(first, options={"more": odd}))
    alone = stencil.item("r.1", 1, {"text": "a"})
    written = told_or_written(lambda work: stencil.encode(work.work_item_id, work.item_index, work.item), alone)
    assert written == told_or_written(the_long_way, alone)


def told_or_written(encode: Callable[[WorkItem], bytes], work: WorkItem) -> bytes | str:
    try:
        return encode(work)
    except WireError as error:
        return str(error)
