"""Score and extract through the real gateway, from the HTTP body to the work on the bus and back (§2, wire-facts 1)."""

from base64 import b64encode
from collections.abc import Callable, Mapping

import msgpack
import pytest
from trio.testing import MockClock

from sie.bus.api import Message
from sie.wire.codec import pack
from sie.wire.result import WorkResult
from sie.wire.work import decode_work
from tests.gateway.doubles import MODEL, ScriptedBus, open_gateway, store

SCORES = [{"item_id": "b", "score": 0.9, "rank": 0}, {"item_id": "a", "score": 0.1, "rank": 1}]
ENTITY = {"id": "x", "entities": [{"text": "Rome", "label": "city", "score": 0.8, "start": 0, "end": 4}]}


def answering(blob: object) -> Callable[[ScriptedBus, Message], None]:
    def on_work(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        item = decode_work(message.data)
        bus.deliver(
            WorkResult(
                work_item_id=item.work_item_id,
                request_id=item.request_id,
                item_index=item.item_index,
                success=True,
                result_msgpack=pack(blob),
                units={"input_tokens": 7, "pairs": 2},
                executed_bundle_config_hash=item.bundle_config_hash,
            )
        )

    return on_work


SCORE: Mapping[str, object] = {
    "query": {"text": "capital of Italy"},
    "items": [{"id": "a", "text": "Paris"}, {"id": "b", "text": "Rome"}],
    "instruction": "rank",
}


async def test_a_score_is_one_work_item_and_one_list(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answering(SCORES)) as gateway:
        reply = await gateway.client.post(f"/v1/score/{MODEL}", json=SCORE)
        (work,) = gateway.bus.work
    assert reply.json() == {"model": MODEL, "scores": SCORES}
    assert (work.operation, work.total_items, work.item) == ("score", 1, None)
    assert (work.query_item, list(work.score_items or ())) == (SCORE["query"], SCORE["items"])
    assert work.instruction == "rank"
    assert reply.headers["x-sie-units-pairs"] == "2"
    assert reply.headers["x-sie-model-revision"] == work.bundle_config_hash


async def test_an_extract_is_a_work_item_for_each_input(autojump_clock: MockClock) -> None:
    body = {"items": [{"text": "Rome"}, {"text": "Oslo"}], "params": {"labels": ["city"], "output_schema": {"a": 1}}}
    async with open_gateway(on_work=answering(ENTITY)) as gateway:
        reply = await gateway.client.post(
            f"/v1/extract/{MODEL}", content=pack(body), headers={"content-type": "application/msgpack"}
        )
        work = gateway.bus.work
    assert msgpack.unpackb(reply.content) == {"model": MODEL, "items": [ENTITY, ENTITY]}
    assert [(w.operation, w.item_index, list(w.labels or ()), w.output_schema) for w in work] == [
        ("extract", 0, ["city"], {"a": 1}),
        ("extract", 1, ["city"], {"a": 1}),
    ]
    assert reply.headers["x-sie-units-input-tokens"] == "14"


async def test_media_are_base64_at_the_edge_and_bytes_on_the_bus(autojump_clock: MockClock) -> None:
    body = {"items": [{"images": [{"data": b64encode(b"\x89PNG").decode(), "format": "png"}]}]}
    async with open_gateway(on_work=answering(ENTITY)) as gateway:
        reply = await gateway.client.post(f"/v1/extract/{MODEL}", json=body)
        (work,) = gateway.bus.work
    assert reply.status_code == 200
    assert work.item == {"images": [{"data": b"\x89PNG", "format": "png"}]}


@pytest.mark.parametrize(
    ("path", "body", "code", "named"),
    [
        ("score", {"items": [{"text": "a"}]}, "INVALID_REQUEST", "query: is required"),
        ("score", {"query": {"text": "q"}, "items": []}, "INVALID_INPUT", "items"),
        (
            "score",
            {"query": {"text": "q"}, "items": [{"text": "a"}] * 1001},
            "TOO_MANY_ITEMS",
            "at most 1000 items, not 1001",
        ),
        ("score", {"query": {"text": 3}, "items": [{"text": "a"}]}, "INVALID_REQUEST", "query.text: must be a string"),
        (
            "extract",
            {"items": [{"images": [{"data": "no!"}]}]},
            "INVALID_REQUEST",
            "items.0.images.0.data: must be base64",
        ),
        ("extract", {"items": [{"text": "a"}], "params": {"labels": "x"}}, "INVALID_REQUEST", "params.labels"),
    ],
)
async def test_what_is_wrong_is_400_and_named(
    path: str, body: Mapping[str, object], code: str, named: str, autojump_clock: MockClock
) -> None:
    async with open_gateway() as gateway:
        reply = await gateway.client.post(f"/v1/{path}/{MODEL}", json=body)
        assert not gateway.bus.work
    assert reply.status_code == 400
    assert reply.json()["detail"]["code"] == code
    assert named in reply.json()["detail"]["message"]


async def test_the_trace_goes_with_the_work_unread(autojump_clock: MockClock) -> None:
    trace = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "vendor=x"}
    async with open_gateway(on_work=answering(SCORES)) as gateway:
        await gateway.client.post(f"/v1/score/{MODEL}", json=SCORE, headers=trace)
        (work,) = gateway.bus.work
    assert (work.traceparent, work.tracestate) == (trace["traceparent"], trace["tracestate"])


async def test_a_revision_is_told_only_where_every_result_has_it(autojump_clock: MockClock) -> None:
    def other(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        item = decode_work(message.data)
        bus.deliver(
            WorkResult(
                work_item_id=item.work_item_id,
                request_id=item.request_id,
                item_index=item.item_index,
                success=True,
                result_msgpack=pack(ENTITY),
                executed_bundle_config_hash=item.bundle_config_hash if item.item_index else "f" * 64,
            )
        )

    async with open_gateway(on_work=other) as gateway:
        reply = await gateway.encode("a", "b")
    assert reply.status_code == 200
    assert "x-sie-model-revision" not in reply.headers
