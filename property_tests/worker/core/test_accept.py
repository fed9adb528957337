"""No bytes make the judge fail, no result leaves for anything but an inbox, and each rule of §2 holds for any item."""

from collections.abc import Mapping

import attrs
from hypothesis import assume, given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.domain.lane import Lane
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.testing import message_strategies as messages
from sie.testing import strategies as sie_st
from sie.wire.codec import pack
from sie.wire.work import Operation, WorkItem, encode_work
from sie.worker.core.accept import (
    POOL_NAK_S,
    AckDrop,
    Garbled,
    Nak,
    Refuse,
    Run,
    asked_name,
    is_reply_subject,
    judge_delivery,
    judge_input,
    read_delivery,
)
from sie.worker.core.gate import ADMITTED, NotAssigned, Standing, Unknown

times = st.floats(0, 2e9)
shut_out = st.builds(NotAssigned, st.text()) | st.builds(Unknown, st.text())
standings: st.SearchStrategy[Standing] = st.just(ADMITTED) | shut_out
NO_INBOXES = ("sie.work.a", "_INBOX", "_INBOX.", "_INBOX.*", "_INBOX.a b", "_INBOX.a..b")


@given(st.binary() | st.builds(pack, sie_st.json_values))
def test_any_bytes_are_read_as_an_item_or_as_garbled_with_somebody_to_tell_at_an_inbox(data: bytes) -> None:
    read = read_delivery(data)
    if isinstance(read, Garbled) and read.answer_to is not None:
        assert is_reply_subject(read.answer_to.reply_subject)


@given(
    messages.work_items, st.sampled_from(("sie.work.a", "_INBOX", "_INBOX.", "_INBOX.*", "_INBOX.a b", "_INBOX.a..b"))
)
def test_an_item_that_wants_its_result_elsewhere_than_in_an_inbox_is_garbled(item: WorkItem, subject: str) -> None:
    assert isinstance(read_delivery(encode_work(attrs.evolve(item, reply_subject=subject))), Garbled)


@given(st.builds("_INBOX.{}.{}".format, sie_st.router_ids, sie_st.request_ids))
def test_a_gateways_inbox_is_a_reply_subject(subject: str) -> None:
    assert is_reply_subject(subject)


@given(messages.work_items, sie_st.snapshots, sie_st.lanes, standings, st.booleans(), times, times)
def test_what_is_cancelled_or_past_its_deadline_is_dropped_whatever_else_is_true_of_it(
    item: WorkItem,
    snapshot: RegistrySnapshot,
    lane: Lane,
    standing: Standing,
    is_cancelled: bool,
    now_s: float,
    deadline_s: float,
) -> None:
    verdict = judge_delivery(
        attrs.evolve(item, deadline=deadline_s), snapshot, lane, standing, is_cancelled=is_cancelled, now_s=now_s
    )
    assert isinstance(verdict, AckDrop) == (is_cancelled or now_s >= deadline_s)


@given(messages.work_items, sie_st.snapshots, sie_st.lanes, standings, sie_st.bundle_hashes)
def test_another_configurations_item_is_given_back_even_where_its_model_is_unknown(
    item: WorkItem, snapshot: RegistrySnapshot, lane: Lane, standing: Standing, other: str
) -> None:
    assume(other != snapshot.scoped_hash(lane.bundle, lane.pool))
    foreign = attrs.evolve(item, deadline=None, bundle_config_hash=other)
    assert isinstance(judge_delivery(foreign, snapshot, lane, standing, is_cancelled=False, now_s=0), Nak)


@given(messages.work_items, sie_st.snapshots, sie_st.lanes, shut_out)
def test_another_workers_item_is_given_back_with_the_reason_even_where_its_model_is_unknown(
    item: WorkItem, snapshot: RegistrySnapshot, lane: Lane, standing: NotAssigned | Unknown
) -> None:
    ours = attrs.evolve(item, deadline=None, bundle_config_hash="")
    verdict = judge_delivery(ours, snapshot, lane, standing, is_cancelled=False, now_s=0)
    assert verdict == Nak(POOL_NAK_S, standing.reason)


@given(st.data(), messages.work_items, sie_st.snapshots)
def test_only_what_the_lane_serves_and_its_model_does_runs_and_all_of_that_does(
    data: st.DataObject, item: WorkItem, snapshot: RegistrySnapshot
) -> None:
    names = sorted(snapshot.serving) or ["acme/none"]
    bundles = sorted(snapshot.bundles) or [data.draw(sie_st.bundle_names)]
    lane = attrs.evolve(data.draw(sie_st.lanes), bundle=data.draw(st.sampled_from(bundles)))
    model, _, profile = data.draw(st.sampled_from(names)).partition(":")
    asked = attrs.evolve(
        item,
        item={"text": ""},
        query_item={"text": ""},
        score_items=({"text": ""},),
        deadline=None,
        model_id=model,
        profile_id=profile,
        bundle_config_hash="",
    )
    found = snapshot.find(asked_name(asked))
    verdict = judge_delivery(asked, snapshot, lane, ADMITTED, is_cancelled=False, now_s=0)
    if found is None or lane.bundle not in found.bundles:
        assert isinstance(verdict, Refuse)
        assert verdict.code is ErrorCode.MODEL_NOT_FOUND
    elif _does(asked.operation, found.model):
        assert verdict == Run(found.model.serving_id(found.profile))
    else:
        assert isinstance(verdict, Refuse)
        assert verdict.code is ErrorCode.INVALID_INPUT
        assert found.model.serving_id(found.profile) in verdict.message
        assert asked.operation in verdict.message


def _does(operation: Operation, model: Model) -> bool:
    """A model of which no task is told encodes."""
    told = {"encode": bool(model.encode_dims), "score": model.scores, "extract": model.extracts}
    return told[operation] or (operation == "encode" and not any(told.values()))


@given(messages.work_items, sie_st.models, st.none() | sie_st.items)
def test_a_text_models_item_without_a_text_is_refused_by_name_of_what_it_has(
    work: WorkItem, model: Model, item: Mapping[str, object] | None
) -> None:
    of_score = {"query_item": {"text": ""}, "score_items": None if item is None else (item,)}
    own = of_score if work.operation == "score" else {"item": item}
    refused = judge_input(attrs.evolve(work, payload_ref=None, query_payload_ref=None, **own), model)
    has_text = item is not None and isinstance(item.get("text"), str)
    assert (refused is None) == (item is not None and (has_text or "image" in model.inputs))
    if refused is not None:
        assert refused.code is ErrorCode.INVALID_INPUT
        assert all(repr(key) in refused.message for key in item or ())
