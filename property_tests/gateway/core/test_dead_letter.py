"""What was given up is buried whole, if it is still what the advisory meant, and its caller is told (§8, §8.2)."""

import json
from datetime import timedelta

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.wire.test_dead_letter import FROM_A_SERVER
from sie.bus.stored_api import Stored
from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import result_subject
from sie.gateway.core.dead_letter import Bury, Gone, judge_found, read_advisory
from sie.testing import message_strategies, strategies
from sie.wire.dead_letter import advisory_of
from sie.wire.work import WorkItem, encode_work

ADVISORY = advisory_of(FROM_A_SERVER)
SUBJECT = "sie.work.default.l4.default.acme__small"
ages_us = st.integers(0, 10**12)


def stored(data: bytes, *, before_us: int = 1) -> Stored:
    return Stored(ADVISORY.stream_seq, SUBJECT, data, ADVISORY.at - timedelta(microseconds=before_us))


@given(st.binary(max_size=50), ages_us)
def test_whatever_lay_there_before_the_advisory_is_kept_with_its_subject(data: bytes, before_us: int) -> None:
    verdict = judge_found(ADVISORY, stored(data, before_us=before_us))
    assert isinstance(verdict, Bury)
    letter = verdict.letter
    assert (letter.advisory, letter.subject, letter.work) == (ADVISORY, SUBJECT, data)


@given(ages_us.filter(bool))
def test_what_came_there_after_the_advisory_is_another_message_and_left_alone(after_us: int) -> None:
    assert judge_found(ADVISORY, stored(b"", before_us=-after_us)) == Gone()


def test_what_is_not_there_is_gone() -> None:
    assert judge_found(ADVISORY, None) == Gone()


@given(message_strategies.work_items)
def test_the_caller_is_told_of_its_item_where_its_results_go(item: WorkItem) -> None:
    subject = result_subject(RouterId(item.router_id), RequestId(item.request_id))
    verdict = judge_found(ADVISORY, stored(encode_work(attrs.evolve(item, reply_subject=subject))))
    assert isinstance(verdict, Bury)
    assert verdict.answer is not None
    result = verdict.answer.result
    assert verdict.answer.subject == subject
    assert (result.work_item_id, result.request_id, result.item_index) == (
        item.work_item_id,
        item.request_id,
        item.item_index,
    )
    assert (result.success, result.error_code) == (False, "inference_error")
    assert "20 deliveries" in (result.error or "")


@given(message_strategies.work_items, st.booleans())
def test_the_answer_says_whether_the_work_was_for_one_worker_by_name(item: WorkItem, is_direct: bool) -> None:
    data = encode_work(attrs.evolve(item, reply_subject="_INBOX.gw-1.r1"))
    found = attrs.evolve(stored(data), subject=f"{SUBJECT}.w1" if is_direct else SUBJECT)
    verdict = judge_found(ADVISORY, found)
    assert isinstance(verdict, Bury)
    assert verdict.answer is not None
    assert verdict.answer.result.origin == ("direct" if is_direct else None)


@given(message_strategies.work_items, strategies.texts | st.sampled_from(("_INBOX.a.>", "_INBOX.a b.c", "sie.work.a")))
def test_nothing_is_said_where_no_result_could_be_wanted(item: WorkItem, subject: str) -> None:
    verdict = judge_found(ADVISORY, stored(encode_work(attrs.evolve(item, reply_subject=subject))))
    assert isinstance(verdict, Bury)
    assert verdict.answer is None


@given(st.text("abcXYZ_", max_size=12))
def test_only_streams_of_work_concern_the_gateway(name: str) -> None:
    told = {**FROM_A_SERVER, "stream": f"X{name}"}
    assert read_advisory(json.dumps(told).encode()) is None
    ours = {**FROM_A_SERVER, "stream": f"WORK_{name}"}
    assert read_advisory(json.dumps(ours).encode()) == advisory_of(ours)
