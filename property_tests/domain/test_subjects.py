"""The subject grammar holds whatever the ids are (§8, §8.2)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sie.domain import subjects
from sie.domain.ids import ModelId, RequestId, RouterId, WorkerId
from sie.domain.lane import Lane
from sie.testing import strategies

TOKEN = re.compile(r"[^.*>\s]+")


def matches(pattern: str, subject: str) -> bool:
    """NATS's rule: `*` stands for one token, a last `>` for one or more."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, given = wanted[:-1], given[: len(wanted) - 1] if len(given) >= len(wanted) else []
    return len(wanted) == len(given) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))


def is_subject(text: str, tokens: int) -> bool:
    parts = text.split(".")
    return len(parts) == tokens and all(TOKEN.fullmatch(part) for part in parts)


@given(strategies.lanes, strategies.model_ids)
def test_a_work_subject_has_six_tokens_whatever_the_model_id_holds(lane: Lane, model: ModelId) -> None:
    assert is_subject(subjects.work_subject(lane, model), 6)


@given(strategies.lanes, strategies.model_ids)
def test_work_reaches_the_stream_of_its_pool_and_the_consumer_of_its_lane(lane: Lane, model: ModelId) -> None:
    subject = subjects.work_subject(lane, model)
    assert matches(subjects.lane_filter(lane), subject)
    assert [matches(pattern, subject) for pattern in subjects.work_stream_subjects(lane.pool)] == [True]


@given(strategies.lanes, strategies.lanes, strategies.model_ids)
def test_work_of_another_pool_reaches_neither(lane: Lane, other: Lane, model: ModelId) -> None:
    subject = subjects.work_subject(lane, model)
    if lane.pool != other.pool:
        assert not matches(subjects.lane_filter(other), subject)
        assert not any(matches(pattern, subject) for pattern in subjects.work_stream_subjects(other.pool))


@given(strategies.lanes)
def test_a_lanes_stream_and_consumer_names_are_single_tokens(lane: Lane) -> None:
    assert TOKEN.fullmatch(subjects.work_stream(lane.pool))
    assert TOKEN.fullmatch(subjects.lane_consumer(lane))


@given(strategies.texts.filter(bool))
def test_normalizing_gives_one_token_of_any_text_without_whitespace(text: str) -> None:
    token = subjects.normalize_token(text)
    assert not set(token) & set(".*> ")
    assert subjects.normalize_token(token) == token


@given(strategies.worker_ids)
def test_a_heartbeat_is_heard_by_who_listens_to_all(worker: WorkerId) -> None:
    subject = subjects.health_subject(worker)
    assert is_subject(subject, 3)
    assert matches(subjects.HEALTH_ALL, subject)


@given(strategies.router_ids, strategies.request_ids)
def test_a_result_comes_to_its_routers_inbox_and_names_its_request(router: RouterId, request: RequestId) -> None:
    subject = subjects.result_subject(router, request)
    assert is_subject(subject, 3)
    assert matches(f"{subjects.inbox_prefix(router)}.>", subject)
    assert subjects.request_of_result(subject) == request


@given(st.text(st.sampled_from("_INBOXar1.*>"), max_size=14) | strategies.texts)
def test_only_a_result_subject_names_a_request(text: str) -> None:
    request = subjects.request_of_result(text)
    if request is None:
        assert not is_subject(text, 3) or not text.startswith("_INBOX.")
    else:
        assert subjects.result_subject(RouterId(text.split(".")[1]), request) == text


@given(strategies.router_ids, st.integers(0, 10**9))
def test_an_ack_subject_names_no_request(router: RouterId, number: int) -> None:
    assert subjects.request_of_result(f"{subjects.inbox_prefix(router)}._ack.{number}") is None


@given(strategies.lanes, strategies.model_ids)
def test_dead_work_is_filed_under_its_models_token(lane: Lane, model: ModelId) -> None:
    subject = subjects.dead_letter_subject(subjects.work_subject(lane, model))
    assert matches(subjects.DEAD_LETTERS_ALL, subject)
    assert subject == f"sie.dlq.{subjects.normalize_token(model)}"


@given(strategies.texts)
def test_any_subject_is_filed_somewhere(text: str) -> None:
    assert re.fullmatch(r"sie\.dlq\.[^.*> ]+", subjects.dead_letter_subject(text))


@given(strategies.lanes, strategies.model_ids, strategies.worker_ids)
def test_work_for_one_worker_has_the_subject_of_its_lane_before_it(
    lane: Lane, model: ModelId, worker: WorkerId
) -> None:
    subject = subjects.work_subject(lane, model)
    assert subjects.lane_subject(f"{subject}.{subjects.normalize_token(worker)}") == subject
    assert subjects.lane_subject(subject) == subject


@given(strategies.lanes)
def test_streams_of_work_are_told_from_others_by_their_name(lane: Lane) -> None:
    assert subjects.is_work_stream(subjects.work_stream(lane.pool))
    assert not subjects.is_work_stream(subjects.DEAD_LETTERS)
