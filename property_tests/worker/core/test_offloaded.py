"""Work whose input lies elsewhere becomes the work that was sent, or a typed error; other work is left as it is."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.wire.test_payload import detached, whole_work
from sie.domain.errors import ErrorCode
from sie.testing import message_strategies as messages
from sie.wire.work import WorkItem
from sie.worker.core.accept import Refuse
from sie.worker.core.offloaded import Carried, Fetch, judge_payload, with_payload


@given(whole_work())
def test_what_a_gateway_put_beside_its_message_is_found_and_read(work: WorkItem) -> None:
    there = detached(work)
    assert judge_payload(work) == Carried()
    assert judge_payload(there.item) == Fetch(there.key)
    assert with_payload(there.item, there.payload) == work


@given(whole_work(), st.none() | st.sampled_from([b"", b"\xc1", b"\x80\x80", b"\x91\x01"]))
def test_what_is_not_there_or_cannot_be_read_is_a_typed_error(work: WorkItem, payload: bytes | None) -> None:
    refused = with_payload(detached(work).item, payload)
    assert isinstance(refused, Refuse)
    assert refused.code == ErrorCode.PAYLOAD_UNAVAILABLE


@given(messages.work_items, st.sampled_from(["../etc/passwd", "/x", "a\\b", "", "a/b.bin", ".hidden"]))
def test_a_reference_that_leads_elsewhere_is_refused_before_it_is_followed(item: WorkItem, ref: str) -> None:
    refused = judge_payload(attrs.evolve(item, item=None, payload_ref=ref))
    assert isinstance(refused, Refuse)
    assert refused.code == ErrorCode.INVALID_REQUEST
    assert repr(ref) in refused.message
