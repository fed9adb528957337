"""The pure parts of `ci/simulate --processes`: what is asked, what is killed, and which answers count as right."""

import json
from collections import Counter
from collections.abc import Mapping
from itertools import islice

import numpy as np
import pytest

from ci.lib.processes_asking import KINDS, TEXTS, Ask, body_of, corpus, draw_ask
from ci.lib.processes_faults import QUICK_ROUND, ROUND, draw_faults
from ci.lib.processes_http import Answer
from ci.lib.processes_judging import Judged, Vectors, judge, least_distance
from ci.lib.processes_rest import Rest, read_rest
from ci.lib.processes_tally import LEFT, AnsweredTwice, Tally
from sie.wire.codec import pack, unpack
from sie.wire.ndarray import array_to_wire

RIGHT = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
TWO = Ask(0, "encode", "json", (2, 0))


def told(vectors: Vectors) -> Answer:
    document = {"items": [{"dense": {"values": row.tolist()}} for row in vectors]}
    return Answer(200, {"content-type": "application/json"}, json.dumps(document).encode())


def packed(vectors: Vectors) -> Answer:
    document = {"items": [{"dense": {"values": array_to_wire(row)}} for row in vectors]}
    return Answer(200, {"content-type": "application/msgpack"}, pack(document))


def refused(status: int, code: str, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, headers or {}, json.dumps({"detail": {"code": code}}).encode())


def test_a_request_is_the_same_for_the_same_seed_and_number() -> None:
    assert draw_ask(3, 7) == draw_ask(3, 7)
    assert len({draw_ask(seed, 7) for seed in range(20)}) > 10


def test_every_kind_of_request_is_drawn_and_only_those_that_leave_have_a_time_to_leave() -> None:
    drawn = [draw_ask(0, number) for number in range(1000)]
    assert {ask.kind for ask in drawn} == set(KINDS)
    assert all((ask.leaves_after_s is not None) == (ask.kind == "leaves") for ask in drawn)
    assert {len(ask.texts) for ask in drawn} == {1, 2, 3, 4}
    assert {ask.form for ask in drawn} == {"json", "msgpack"}


def test_the_texts_are_all_different() -> None:
    assert len(set(corpus(0))) == TEXTS


@pytest.mark.parametrize(("kind", "items"), [("encode", 2), ("partly", 3), ("broken", 1)])
def test_a_broken_item_stands_among_good_ones_or_alone(kind: str, items: int) -> None:
    ask = Ask(0, "partly" if kind == "partly" else "broken" if kind == "broken" else "encode", "msgpack", (0, 1), 1)
    document = unpack(body_of(ask, ("a", "b")))
    assert isinstance(document, dict)
    texts = [item.get("text") for item in document["items"]]
    assert len(texts) == items
    assert [text for text in texts if text] == ([] if kind == "broken" else ["a", "b"])


def test_each_round_of_faults_kills_everything() -> None:
    faults = list(islice(draw_faults(1, quick=False), 3 * len(ROUND)))
    assert all(
        Counter(fault.kind for fault in faults[start : start + len(ROUND)]) == Counter(ROUND)
        for start in range(0, len(faults), len(ROUND))
    )
    assert faults == list(islice(draw_faults(1, quick=False), len(faults)))
    assert {fault.kind for fault in islice(draw_faults(1, quick=True), len(QUICK_ROUND))} == set(ROUND)


@pytest.mark.parametrize("answer", [told(RIGHT[[2, 0]]), packed(RIGHT[[2, 0]] + np.float32(1e-6))])
def test_the_vectors_of_the_texts_in_their_order_are_right(answer: Answer) -> None:
    assert judge(TWO, answer, RIGHT) == Judged("right", "200")


@pytest.mark.parametrize(
    "answer",
    [
        told(RIGHT[[0, 2]]),
        told(RIGHT[[2]]),
        told(RIGHT[[2, 0, 0]]),
        packed(RIGHT[[2, 0]] + np.float32(1e-5)),
        Answer(200, {}, b'{"items": [{"dense": null}, {"dense": null}]}'),
        Answer(200, {}, b"no document"),
        refused(500, "all_items_failed"),
        refused(404, "MODEL_NOT_FOUND"),
    ],
    ids=["another order", "one short", "one too many", "off", "empty", "unreadable", "failed", "unknown"],
)
def test_anything_else_is_wrong(answer: Answer) -> None:
    assert judge(TWO, answer, RIGHT).verdict == "wrong"


def test_a_refusal_that_may_be_asked_again_and_a_lost_connection_are_told_apart_from_wrong_ones() -> None:
    assert judge(TWO, refused(503, "PROVISIONING"), RIGHT) == Judged("refused", "503 PROVISIONING")
    assert judge(TWO, refused(503, "QUEUE_UNAVAILABLE"), RIGHT).verdict == "wrong"
    assert judge(TWO, None, RIGHT).verdict == "refused"


def test_an_unknown_model_and_a_broken_item_have_answers_of_their_own() -> None:
    unknown, broken = Ask(0, "unknown", "json", (0,)), Ask(0, "broken", "json", (0,))
    assert judge(unknown, refused(404, "MODEL_NOT_FOUND"), RIGHT).verdict == "right"
    assert judge(broken, refused(400, "INVALID_INPUT"), RIGHT).verdict == "right"
    assert judge(unknown, told(RIGHT[[0]]), RIGHT).verdict == "wrong"
    assert judge(broken, refused(404, "MODEL_NOT_FOUND"), RIGHT).verdict == "wrong"


def test_the_least_distance_is_that_of_the_two_closest() -> None:
    assert least_distance(np.array([[0, 0], [5, 1], [5, 3]], np.float32)) == 2


def tally(*verdicts: Judged) -> Tally:
    found = Tally()
    for number, judged in enumerate(verdicts):
        found.ended(Ask(number, "encode", "json", (0,)), judged, Counter(), 0.5)
    return found


GOOD, REFUSED = Judged("right", "200"), Judged("refused", "503 PROVISIONING")


def test_all_right_holds_and_a_client_that_left_takes_nothing_from_it() -> None:
    assert tally(GOOD, LEFT).holds(2, may_refuse=False)


def test_one_missing_one_refused_or_one_wrong_does_not_hold() -> None:
    assert not tally(GOOD).holds(2, may_refuse=True)
    assert not tally(GOOD, REFUSED).holds(2, may_refuse=False)
    assert not tally(GOOD, Judged("wrong", "200")).holds(2, may_refuse=True)
    assert tally(GOOD, REFUSED).holds(2, may_refuse=True)


def test_an_answer_too_many_does_not_hold() -> None:
    found = tally(GOOD)
    found.answered("a")
    assert found.holds(1, may_refuse=True)
    found.answered("a")
    assert not found.holds(1, may_refuse=True)
    stray = tally(GOOD)
    stray.strays = 1
    assert not stray.holds(1, may_refuse=True)


def test_a_request_cannot_end_twice() -> None:
    found = tally(GOOD)
    with pytest.raises(AnsweredTwice):
        found.ended(Ask(0, "encode", "json", (0,)), GOOD, Counter(), 0)


def test_the_summary_tells_what_is_short_and_how_long_clients_waited() -> None:
    summary = tally(GOOD, REFUSED).summary(2, 4.0)
    assert (summary["right"], summary["refused"], summary["refused_rate"]) == (1, 1, 0.5)
    assert summary["wait_s"] == {"median": 0.5, "p99": 0.5, "longest": 0.5}
    assert isinstance(summary["short"], list)
    assert [row["request"] for row in summary["short"]] == [1]


def work_stream(messages: int, *consumers: Mapping[str, int]) -> Mapping[str, object]:
    return {"name": "WORK_POOL_default", "state": {"messages": messages}, "consumer_detail": consumers}


def read(*streams: Mapping[str, object], requests: int = 0) -> Rest:
    view = json.dumps({"account_details": [{"stream_detail": streams}]}).encode()
    return read_rest(json.dumps({"requests_in_flight": requests}).encode(), view, 0.0)


def test_a_system_is_at_rest_when_no_request_is_in_flight_and_no_work_is_owed() -> None:
    assert read(work_stream(0, {"num_pending": 0, "num_ack_pending": 0})).holds
    assert not read(work_stream(1, {"num_pending": 1, "num_ack_pending": 0})).holds
    assert not read(work_stream(1, {"num_pending": 0, "num_ack_pending": 1})).holds
    assert not read(work_stream(0, {"num_pending": 0, "num_ack_pending": 0}), requests=1).holds


def test_work_that_no_consumer_is_there_for_is_owed() -> None:
    assert read(work_stream(2)).left == {"WORK_POOL_default": 2}


def test_what_was_acked_and_is_kept_all_the_same_is_told_and_owed_to_nobody() -> None:
    rest = read(work_stream(3, {"num_pending": 0, "num_ack_pending": 1}))
    assert (rest.left, rest.done_but_kept) == ({"WORK_POOL_default": 1}, 2)


def test_dead_letters_are_told_and_are_no_work() -> None:
    rest = read({"name": "DEAD_LETTERS", "state": {"messages": 9}}, work_stream(0))
    assert (rest.dead_letters, rest.holds) == (9, True)


def test_silence_is_no_rest() -> None:
    assert not read_rest(None, None, 0.0).holds
    assert not read_rest(b'{"requests_in_flight": 0}', b"", 0.0).holds
