"""A replay is the same work under new names (§8)."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.cli.dlq_replay import plan_replay
from sie.domain.ids import RequestId, RouterId
from sie.testing import message_strategies, strategies
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError
from sie.wire.work import WorkItem, decode_work, encode_work

SUBJECT = "sie.work.default.l4.default.acme__small"
NEW = ("work_item_id", "request_id", "router_id", "reply_subject", "timestamp", "deadline")
OPEN = {"bundle_config_hash": "", "accepts_result_chunks": False}


@given(message_strategies.work_items, strategies.router_ids, strategies.request_ids, st.integers(1, 10**6))
def test_all_that_was_asked_for_is_asked_for_again(
    item: WorkItem, router: RouterId, request: RequestId, timeout_s: int
) -> None:
    planned = plan_replay(SUBJECT, encode_work(item), router=router, request=request, now_s=100.0, timeout_s=timeout_s)
    again = decode_work(planned.data)
    asked, sent = attrs.asdict(item, recurse=False), attrs.asdict(again, recurse=False)
    assert {name: sent[name] for name in sent if name not in NEW} == {
        **{name: asked[name] for name in asked if name not in NEW},
        **OPEN,
    }
    assert (again.request_id, again.router_id) == (request, router)
    assert again.work_item_id == planned.work_item_id == f"{request}.{item.item_index}"
    assert again.reply_subject == planned.reply == f"_INBOX.{router}.{request}"
    assert (again.timestamp, again.deadline) == (100.0, 100.0 + timeout_s)


@given(message_strategies.work_items, strategies.json_maps)
def test_keys_of_a_newer_gateway_stay(item: WorkItem, more: dict[str, object]) -> None:
    written = unpack(encode_work(item))
    assert isinstance(written, dict)
    added = {f"new_{key}": value for key, value in more.items()}
    planned = plan_replay(
        SUBJECT, pack({**added, **written}), router=RouterId("r"), request=RequestId("q"), now_s=1.0, timeout_s=1.0
    )
    sent = unpack(planned.data)
    assert isinstance(sent, dict)
    assert {key: sent[key] for key in added} == added


def test_work_for_one_worker_goes_to_its_lane() -> None:
    work = pack({"operation": "encode"})
    planned = plan_replay(f"{SUBJECT}.w1", work, router=RouterId("r"), request=RequestId("q"), now_s=1.0, timeout_s=1.0)
    assert planned.subject == SUBJECT


@given(st.binary(max_size=20) | st.just(pack({"item": {}})) | st.just(pack([1])))
def test_what_is_no_work_item_is_not_sent(work: bytes) -> None:
    with pytest.raises(WireError):
        plan_replay(SUBJECT, work, router=RouterId("r"), request=RequestId("q"), now_s=1.0, timeout_s=1.0)
