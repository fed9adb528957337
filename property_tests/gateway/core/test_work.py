"""One work item for each item of a request, in order, each enough for a worker to answer by itself (§16.2)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import DEFAULT_PROFILE, BundleName, MachineProfile, ModelId, PoolName, RequestId, RouterId
from sie.domain.lane import Lane
from sie.gateway.core.routing import Routed, Target
from sie.gateway.core.work import Ticket, plan_work
from sie.testing import strategies
from sie.wire.inference_api import EncodeRequest, ExtractRequest, InferenceRequest, ScoreRequest
from sie.wire.work import decode_work, encode_work

ROUTED = Routed(
    Target(ModelId("acme/m"), DEFAULT_PROFILE, BundleName("b"), "a" * 64),
    PoolName("tenant"),
    Lane(PoolName("p"), MachineProfile("l4"), BundleName("b")),
)
TRACE = st.none() | st.text(min_size=1, max_size=5)
ITEMS = st.lists(strategies.items, min_size=1, max_size=8).map(tuple)
WORDS = st.none() | strategies.texts
OPTIONS = st.none() | strategies.json_maps
ENCODES = st.builds(
    EncodeRequest, items=ITEMS, instruction=WORDS, is_query=st.booleans(), options=OPTIONS, output_types=st.none()
)
SCORES = st.builds(ScoreRequest, query=strategies.items, items=ITEMS, instruction=WORDS, options=OPTIONS)
EXTRACTS = st.builds(
    ExtractRequest,
    items=ITEMS,
    labels=st.none() | st.lists(strategies.texts).map(tuple),
    output_schema=OPTIONS,
    instruction=WORDS,
    options=OPTIONS,
)


def ticket(traceparent: str | None = None) -> Ticket:
    return Ticket(RouterId("gw"), RequestId("r"), 5.0, 35.0, traceparent)


@given(st.one_of(ENCODES, SCORES, EXTRACTS), TRACE)
def test_every_item_says_where_it_belongs_and_survives_the_wire(request: InferenceRequest, trace: str | None) -> None:
    work = tuple(plan_work(ticket(trace), ROUTED, request))
    assert [(item.work_item_id, item.item_index) for item in work] == [(f"r.{n}", n) for n in range(len(work))]
    assert {item.total_items for item in work} == {len(work)}
    assert {item.reply_subject for item in work} == {"_INBOX.gw.r"}
    assert {(item.pool_name, item.admission_pool) for item in work} == {("p", "tenant")}
    assert {item.bundle_config_hash for item in work} == {"a" * 64}
    assert {item.traceparent for item in work} == {trace}
    assert {item.accepts_result_chunks for item in work} == {True}
    assert tuple(decode_work(encode_work(item)) for item in work) == work


@given(st.one_of(ENCODES, SCORES, EXTRACTS), TRACE)
def test_what_is_sent_is_the_item_as_it_is_written_by_itself(request: InferenceRequest, trace: str | None) -> None:
    planned = plan_work(ticket(trace), ROUTED, request)
    assert [planned.encoded(index) for index in range(len(planned))] == [encode_work(item) for item in planned]
    assert [planned.name(index) for index in range(len(planned))] == [item.work_item_id for item in planned]


@given(ENCODES)
def test_encode_has_an_item_for_each_input(request: EncodeRequest) -> None:
    work = tuple(plan_work(ticket(), ROUTED, request))
    assert tuple(item.item for item in work) == request.items
    assert {(item.operation, item.is_query, item.instruction) for item in work} == {
        ("encode", request.is_query, request.instruction)
    }
    assert all(item.options == request.options for item in work)


@given(SCORES)
def test_score_is_one_item_with_all_that_is_ranked(request: ScoreRequest) -> None:
    (work,) = plan_work(ticket(), ROUTED, request)
    assert (work.operation, work.item) == ("score", None)
    assert (work.query_item, work.score_items) == (request.query, request.items)
    assert (work.instruction, work.options) == (request.instruction, request.options)


@given(EXTRACTS)
def test_extract_repeats_what_is_sought_with_each_input(request: ExtractRequest) -> None:
    work = tuple(plan_work(ticket(), ROUTED, request))
    assert tuple(item.item for item in work) == request.items
    assert {item.operation for item in work} == {"extract"}
    assert all((item.labels, item.output_schema) == (request.labels, request.output_schema) for item in work)
