"""One work item for each item of a request, in order, each enough for a worker to answer by itself."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import DEFAULT_PROFILE, BundleName, MachineProfile, ModelId, PoolName, RequestId, RouterId
from sie.domain.lane import Lane
from sie.gateway.core.routing import Routed, Target
from sie.gateway.core.work import Ticket, plan_encode
from sie.wire.inference_api import EncodeRequest
from sie.wire.work import decode_work, encode_work

ROUTED = Routed(
    Target(ModelId("acme/m"), DEFAULT_PROFILE, BundleName("b"), "a" * 64),
    PoolName("tenant"),
    Lane(PoolName("p"), MachineProfile("l4"), BundleName("b")),
)


@given(st.lists(st.text(), min_size=1, max_size=8), st.booleans(), st.one_of(st.none(), st.text(max_size=5)))
def test_items_become_work_in_order_and_survive_the_wire(
    texts: list[str], is_query: bool, instruction: str | None
) -> None:
    request = EncodeRequest(
        items=tuple({"text": text} for text in texts),
        output_types=("dense",),
        instruction=instruction,
        is_query=is_query,
        options=None,
    )
    work = plan_encode(Ticket(RouterId("gw"), RequestId("r"), 5.0, 35.0), ROUTED, request)
    assert [dict(item.item or {})["text"] for item in work] == texts
    assert [item.work_item_id for item in work] == [f"r.{index}" for index in range(len(texts))]
    assert {item.total_items for item in work} == {len(texts)}
    assert {(item.pool_name, item.admission_pool) for item in work} == {("p", "tenant")}
    assert {item.reply_subject for item in work} == {"_INBOX.gw.r"}
    assert tuple(decode_work(encode_work(item)) for item in work) == work
