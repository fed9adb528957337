"""Whatever an item holds and the broker takes: what is published fits, and what cannot be is refused with its size."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ERRORS, ErrorCode
from sie.gateway.core.offload import (
    MARGIN_BYTES,
    ORPHAN_AGE_S,
    THRESHOLD_BYTES,
    Inline,
    Offload,
    Plan,
    Refused,
    Room,
    after_failed_put,
    orphans_before_s,
    plan_message,
)
from sie.testing import message_strategies as messages
from sie.wire.payload import attach
from sie.wire.work import WorkItem, decode_work, encode_work

sizes = st.integers(0, 4000) | st.integers(THRESHOLD_BYTES - 3000, THRESHOLD_BYTES + 3000)
rooms = st.builds(
    Room,
    max_payload=st.integers(0, 8000) | st.sampled_from([THRESHOLD_BYTES, 2 * THRESHOLD_BYTES]),
    header_bytes=st.integers(0, 300),
    has_store=st.booleans(),
)


@st.composite
def work_of_any_size(draw: st.DrawFn) -> WorkItem:
    """Long in its input, in what is said about it, or in both."""
    work, text = draw(messages.work_items), "x" * draw(sizes)
    options = {"long": "y" * draw(st.integers(0, 4000))}
    return attrs.evolve(work, item={"text": text}, payload_ref=None, options=options)


@given(work_of_any_size(), rooms)
def test_every_message_that_a_plan_allows_fits_and_says_the_whole_item(work: WorkItem, room: Room) -> None:
    plan = plan_message(work, room)
    for data in messages_of(plan):
        assert len(data) + room.header_bytes + MARGIN_BYTES <= room.max_payload
    match plan:
        case Inline(data):
            assert decode_work(data) == work
        case Offload(key, payload, data, inline):
            assert room.has_store
            assert len(data) <= room.inline_bytes
            assert attach(decode_work(data), payload) == work
            assert decode_work(data).payload_ref == key
            assert inline in (None, encode_work(work))
        case Refused(code, message):
            assert code == ErrorCode.PAYLOAD_TOO_LARGE
            assert ERRORS[code].status == 413
            assert f"{len(encode_work(work))} bytes" in message
            assert str(room.most_bytes) in message


@given(work_of_any_size(), rooms)
def test_what_is_small_goes_inline_and_what_fits_is_never_refused(work: WorkItem, room: Room) -> None:
    plan, size = plan_message(work, room), len(encode_work(work))
    if size <= room.inline_bytes:
        assert isinstance(plan, Inline)
    if size <= room.most_bytes:
        assert not isinstance(plan, Refused)
    if isinstance(plan, Inline) and size > room.inline_bytes:
        bare = attrs.evolve(work, item=None, payload_ref="x" * 40)
        assert not room.has_store or len(encode_work(bare)) > room.inline_bytes - 200


@given(work_of_any_size(), rooms)
def test_where_the_store_does_not_take_it_it_goes_inline_or_the_request_may_be_tried_again(
    work: WorkItem, room: Room
) -> None:
    plan = plan_message(work, room)
    if isinstance(plan, Offload):
        match after_failed_put(plan, work.item_index):
            case Inline(data):
                assert decode_work(data) == work
            case Refused(code, message):
                assert len(encode_work(work)) > room.most_bytes
                assert (ERRORS[code].status, ERRORS[code].retry_after_s) == (503, 5)
                assert f"item {work.item_index}" in message


@given(st.floats(1e9, 2e9), st.floats(0, 60_000))
def test_nothing_is_an_orphan_while_queue_or_dead_letters_may_name_it(put_s: float, after_s: float) -> None:
    assert not put_s < orphans_before_s(now_unix_s=put_s + after_s) or after_s > ORPHAN_AGE_S
    assert ORPHAN_AGE_S >= 24 * 3600 + 1800


def messages_of(plan: Plan) -> list[bytes]:
    match plan:
        case Inline(data):
            return [data]
        case Offload():
            return [plan.data, *([plan.inline] if plan.inline is not None else [])]
        case Refused():
            return []
