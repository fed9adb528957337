"""What is detached from work and attached again is the same work; a key leads nowhere but under the store's root."""

import string
from pathlib import PurePosixPath

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sie.domain.ids import InvalidId, RequestId, RouterId
from sie.testing import message_strategies as messages
from sie.testing import strategies
from sie.wire.codec import pack
from sie.wire.converters import WireError
from sie.wire.payload import Detached, attach, detach, item_key, payload_key, ref_of, router_of, score_key
from sie.wire.work import WorkItem, decode_work, encode_work


@st.composite
def whole_work(draw: st.DrawFn) -> WorkItem:
    """Its input is one item, or a query with the items that are scored for it."""
    work = attrs.evolve(
        draw(messages.work_items), payload_ref=None, query_payload_ref=None, query_item=None, score_items=None
    )
    if draw(st.booleans()):
        return attrs.evolve(work, item=draw(strategies.items))
    scored = tuple(draw(st.lists(strategies.items, max_size=2)))
    return attrs.evolve(work, item=None, query_item=draw(strategies.items), score_items=scored)


def detached(work: WorkItem) -> Detached:
    found = detach(work)
    assert found is not None
    return found


@given(whole_work())
def test_attaching_undoes_detaching_over_the_wire(work: WorkItem) -> None:
    there = detached(work)
    arrived = decode_work(encode_work(there.item))
    assert ref_of(arrived) == there.key
    assert attach(arrived, there.payload) == work
    assert ref_of(work) is None


@given(whole_work())
def test_what_is_detached_holds_no_input_and_has_nothing_more_to_detach(work: WorkItem) -> None:
    rest = detached(work).item
    assert (rest.item, rest.query_item, rest.score_items) == (None, None, None)
    assert detach(rest) is None
    assert router_of(detached(work).key) == work.router_id


@given(whole_work(), st.binary() | strategies.json_values.map(pack))
def test_a_payload_that_is_none_is_refused(work: WorkItem, payload: bytes) -> None:
    there = detached(work)
    try:
        arrived = attach(there.item, payload)
    except WireError:
        return
    assert detach(arrived) is not None


@given(strategies.router_ids, strategies.router_ids, strategies.request_ids, st.integers(0, 4095))
def test_keys_tell_routers_apart_and_stay_within_the_stores_bounds(
    router: RouterId, other: RouterId, request: RequestId, item_index: int
) -> None:
    keys = {item_key(router, request, item_index), score_key(router, request)}
    assert len(keys) == 2
    assert {router_of(key) for key in keys} == {router}
    assert keys.isdisjoint({item_key(other, request, item_index)}) == (router != other)


@given(st.text(alphabet="ab./\\_-\n\x00\u00fc", max_size=12) | st.text() | strategies.texts)
@example("a..b")
@example("x" * 201)
def test_a_key_is_one_plain_visible_name_or_refused(text: str) -> None:
    if not is_plain(text):
        with pytest.raises(InvalidId, match="payload key"):
            payload_key(text)
        return
    key = payload_key(text)
    assert PurePosixPath(key).parts == (text,)


def is_plain(text: str) -> bool:
    letters = set(string.ascii_letters + string.digits + "._-")
    return set(text) <= letters and 0 < len(text) <= 200 and not text.startswith(".") and ".." not in text


def test_the_keys_of_older_gateways_are_taken_and_are_nobodys() -> None:
    assert router_of(payload_key("id-17_4.bin")) is None
