"""An encode request through the real gateway, from the HTTP body to the work on the bus and back (§2, §16.2)."""

from collections.abc import Callable

import msgpack
import numpy as np
import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sie.bus.api import Message
from sie.wire.ndarray import array_from_wire, array_to_wire
from sie.wire.work import decode_work
from tests.gateway import doubles
from tests.gateway.doubles import MODEL, ScriptedBus, answer_at_once, failure, open_gateway, store, success


async def test_a_json_request_is_answered_item_by_item_in_order(autojump_clock: MockClock) -> None:
    def reversed_order(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        item = decode_work(message.data)
        if item.item_index == item.total_items - 1:
            for other in reversed(bus.work):
                bus.deliver(success(other, [float(other.item_index), 0.0]))

    async with open_gateway(on_work=reversed_order) as gateway:
        response = await gateway.encode("a", "b", "c")
    assert response.status_code == 200
    assert response.json()["model"] == MODEL
    assert [item["dense"]["values"][0] for item in response.json()["items"]] == [0.0, 1.0, 2.0]


async def test_the_work_on_the_bus_carries_all_that_a_worker_needs(autojump_clock: MockClock) -> None:
    body = {
        "items": [{"id": "x", "text": "hello"}],
        "params": {"instruction": "find: ", "options": {"is_query": True}, "output_dtype": "float32"},
    }
    async with open_gateway(on_work=answer_at_once) as gateway:
        response = await gateway.client.post(f"/v1/encode/{MODEL}", json=body)
        work, message = gateway.bus.work[0], gateway.bus.published[-1]
    assert response.json()["items"][0]["id"] == "x"
    assert message.subject == "sie.work.default.default.default.acme__small"
    assert message.headers == {"Nats-Msg-Id": work.work_item_id}
    assert work.reply_subject == f"{gateway.bus.inbox}.{work.request_id}"
    assert work.bundle_config_hash == doubles.SNAPSHOT.scoped_hash(doubles.LANE.bundle, doubles.LANE.pool)
    assert (work.item, work.instruction, work.is_query) == ({"id": "x", "text": "hello"}, "find: ", True)
    assert (work.options or {})["output_dtype"] == "float32"
    assert work.deadline == work.timestamp + 30.0


async def test_msgpack_in_means_msgpack_out_with_arrays_as_the_worker_wrote_them(autojump_clock: MockClock) -> None:
    vector = np.array([0.5, -2.0], dtype=np.float32)

    def with_array(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        bus.deliver(success(decode_work(message.data), array_to_wire(vector)))

    async with open_gateway(on_work=with_array) as gateway:
        response = await gateway.client.post(
            f"/v1/encode/{MODEL}",
            content=msgpack.packb({"items": [{"text": "a"}]}),
            headers={"Content-Type": "application/msgpack", "Accept": "*/*"},
        )
        as_json = await gateway.encode("a")
    assert response.headers["content-type"] == "application/msgpack"
    values = msgpack.unpackb(response.content, strict_map_key=False)["items"][0]["dense"]["values"]
    assert np.array_equal(array_from_wire(values), vector)
    assert as_json.json()["items"][0]["dense"]["values"] == [0.5, -2.0]


async def test_the_reply_names_the_request_the_worker_and_the_times(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answer_at_once) as gateway:
        response = await gateway.encode("a")
        request_id = gateway.bus.work[0].request_id
    assert response.headers["x-sie-request-id"] == request_id
    assert response.headers["x-sie-worker"] == "w1"
    assert response.headers["x-inference-time"] == "3.2"
    assert response.headers["x-sie-server-version"].startswith("0.10")


async def test_the_stream_is_made_once_with_the_exact_settings(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answer_at_once) as gateway:
        await gateway.encode("a")
        await gateway.encode("b")
        calls = [m.subject for m in gateway.bus.published if m.subject.startswith("$JS.API.STREAM")]
        stream = gateway.bus.streams["WORK_POOL_default"]
    info, create = "$JS.API.STREAM.INFO.WORK_POOL_default", "$JS.API.STREAM.CREATE.WORK_POOL_default"
    assert calls == [info, create, info]  # the last one asks how much waits there, for a second
    assert stream == {
        "name": "WORK_POOL_default",
        "subjects": ["sie.work.default.*.*.*"],
        "retention": "workqueue",
        "storage": "memory",
        "num_replicas": 1,
        "max_age": 1800 * 10**9,
        "max_msgs": 100_000,
        "discard": "new",
    }


async def test_a_new_session_ensures_the_stream_again(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answer_at_once) as gateway:
        await gateway.encode("a")
        gateway.bus.streams.clear()
        gateway.bus.session = 2
        response = await gateway.encode("b")
        assert "WORK_POOL_default" in gateway.bus.streams
    assert response.status_code == 200


async def test_an_unknown_model_is_404_in_the_gateways_envelope(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        response = await gateway.client.post("/v1/encode/acme/other", json={"items": []})
    assert response.status_code == 404
    assert response.json()["detail"]["code"] == "MODEL_NOT_FOUND"
    assert response.json()["detail"]["model"] == "acme/other"


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        (b"{", "INVALID_REQUEST", "JSON"),
        (b"[]", "INVALID_REQUEST", "must be a map"),
        (b"{}", "INVALID_REQUEST", "items: is required"),
        (b'{"items": "abc"}', "INVALID_REQUEST", "items: must be a list"),
        (b'{"items": [{"text": "a"}, {"text": 3}]}', "INVALID_REQUEST", "items.1.text: must be a string"),
        (b'{"items": [{}]}', "INVALID_REQUEST", "items.0.text"),
        (b'{"items": [{"text": "a"}], "params": {"output_types": 1}}', "INVALID_REQUEST", "params.output_types"),
        (b'{"items": []}', "INVALID_INPUT", "items"),
        (b'{"items": [{"text": "' + b"a" * (2 * 1024 * 1024 + 1) + b'"}]}', "INVALID_REQUEST", "2097153"),
    ],
)
async def test_a_malformed_body_is_400_and_names_the_field(
    autojump_clock: MockClock, body: bytes, code: str, named: str
) -> None:
    async with open_gateway() as gateway:
        response = await gateway.client.post(f"/v1/encode/{MODEL}", content=body)
        assert not gateway.bus.work
    assert response.status_code == 400
    assert response.json()["detail"]["code"] == code
    assert named in response.json()["detail"]["message"]


async def test_too_many_items_are_refused_before_any_work(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        response = await gateway.encode(*["a"] * 4097)
        assert not gateway.bus.work
    assert response.status_code == 400
    assert response.json()["detail"]["code"] == "TOO_MANY_ITEMS"
    assert "4096" in response.json()["detail"]["message"]
    assert "4097" in response.json()["detail"]["message"]


async def test_an_item_over_the_brokers_limit_is_413_and_nothing_is_sent(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        response = await gateway.encode("short", "a" * (1024 * 1024))
        assert not gateway.bus.work
    assert response.status_code == 413
    assert response.json()["detail"]["code"] == "PAYLOAD_TOO_LARGE"
    assert "item 1 takes" in response.json()["detail"]["message"]


async def test_without_a_worker_the_client_is_told_to_try_again(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        response = await gateway.encode("a")
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "PROVISIONING"
    assert response.headers["retry-after"] == "60"
    assert response.headers["x-sie-error-code"] == "PROVISIONING"


async def test_a_worker_with_another_configuration_does_not_count(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        gateway.bus.heartbeat(doubles.worker(config_hash="0" * 64))
        response = await gateway.encode("a")
    assert response.json()["error"]["code"] == "PROVISIONING"


async def test_a_silent_worker_ages_out(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answer_at_once) as gateway:
        await trio.sleep(15)
        assert (await gateway.encode("a")).status_code == 200
        await trio.sleep(1)
        assert (await gateway.encode("a")).status_code == 503


async def test_before_the_broker_is_there_requests_are_503_queue_unavailable(autojump_clock: MockClock) -> None:
    async with open_gateway(session=0) as gateway:
        response = await gateway.encode("a")
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "QUEUE_UNAVAILABLE"
    assert response.headers["retry-after"] == "5"


async def test_no_result_in_time_is_504(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=store) as gateway:
        started = trio.current_time()
        response = await gateway.encode("a")
        waited_s = trio.current_time() - started
    assert response.status_code == 504
    assert response.json()["error"]["code"] == "GATEWAY_TIMEOUT"
    assert response.headers["retry-after"] == "5"
    assert 30.0 <= waited_s < 30.5


async def test_work_that_is_never_acknowledged_is_503_after_the_ack_deadline(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=lambda _, __: None) as gateway:
        started = trio.current_time()
        response = await gateway.encode("a")
        waited_s = trio.current_time() - started
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "QUEUE_UNAVAILABLE"
    assert 6.0 <= waited_s < 6.5


@pytest.mark.parametrize(
    ("err_code", "code"), [(10077, "QUEUE_FULL"), (10059, "QUEUE_UNAVAILABLE")], ids=["full", "gone"]
)
async def test_a_refused_publish_ends_the_request_at_once(autojump_clock: MockClock, err_code: int, code: str) -> None:
    def refuse(bus: ScriptedBus, message: Message) -> None:
        bus.answer(message, {"error": {"code": 503, "err_code": err_code, "description": "no"}})

    async with open_gateway(on_work=refuse) as gateway:
        started = trio.current_time()
        response = await gateway.encode("a")
        assert trio.current_time() - started < 1
    assert response.status_code == 503
    assert response.json()["error"]["code"] == code


async def test_a_result_before_its_ack_is_an_answer(autojump_clock: MockClock) -> None:
    def result_only(bus: ScriptedBus, message: Message) -> None:
        bus.deliver(success(decode_work(message.data)))

    async with open_gateway(on_work=result_only) as gateway:
        assert (await gateway.encode("a")).status_code == 200


def _fail_first(code: str) -> Callable[[ScriptedBus, Message], None]:
    def on_work(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        item = decode_work(message.data)
        bus.deliver(failure(item, code) if item.item_index == 0 else success(item))

    return on_work


async def test_partial_failure_answers_the_successes_and_lists_the_rest(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=_fail_first("inference_error")) as gateway:
        response = await gateway.encode("a", "b")
    assert response.status_code == 200
    assert len(response.json()["items"]) == 1
    assert response.json()["errors"] == [{"item_index": 0, "error": "it broke", "code": "inference_error"}]


@pytest.mark.parametrize(
    ("code", "status", "told", "retry_after"),
    [
        ("INVALID_INPUT", 400, ("detail", "INVALID_INPUT"), None),
        ("INPUT_TOO_LONG", 400, ("detail", "INPUT_TOO_LONG"), None),
        ("RESOURCE_EXHAUSTED", 503, ("error", "RESOURCE_EXHAUSTED"), "5"),
        ("MODEL_LOADING", 503, ("error", "MODEL_LOADING"), "5"),
        ("MODEL_LOAD_FAILED", 502, ("error", "MODEL_LOAD_FAILED"), None),
        ("inference_error", 500, ("error", "all_items_failed"), None),
        ("a code of tomorrow", 500, ("error", "all_items_failed"), None),
    ],
)
async def test_when_every_item_fails_alike_the_code_decides_the_answer(
    autojump_clock: MockClock, code: str, status: int, told: tuple[str, str], retry_after: str | None
) -> None:
    async with open_gateway(on_work=_fail_first(code)) as gateway:
        response = await gateway.encode("a")
    assert response.status_code == status
    assert response.json()[told[0]]["code"] == told[1]
    assert response.headers.get("retry-after") == retry_after


async def test_a_result_that_cannot_be_read_is_dropped_and_a_later_one_counts(autojump_clock: MockClock) -> None:
    def garbage_then_result(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        item = decode_work(message.data)
        bus.deliver_raw(f"{bus.inbox}.{item.request_id}", b"\xc1")
        bus.deliver_raw(f"{bus.inbox}.somebody-else", b"\xc1")
        bus.deliver(success(item))

    async with open_gateway(on_work=garbage_then_result) as gateway:
        assert (await gateway.encode("a")).status_code == 200


async def test_a_second_result_for_an_item_changes_nothing(autojump_clock: MockClock) -> None:
    def twice(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        item = decode_work(message.data)
        bus.deliver(success(item, [1.0, 1.0]))
        bus.deliver(success(item, [9.0, 9.0]))

    async with open_gateway(on_work=twice) as gateway:
        response = await gateway.encode("a", "b")
    assert [item["dense"]["values"] for item in response.json()["items"]] == [[1.0, 1.0], [1.0, 1.0]]


async def test_a_client_that_drops_in_mid_request_leaves_no_collector_behind(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=store) as gateway:
        before = dict(gateway.bus.correlated)
        with trio.move_on_after(5):
            await gateway.encode("a", "b")
        await trio.testing.wait_all_tasks_blocked()
        late = [success(item) for item in gateway.bus.work]
        assert len(late) == 2
        assert gateway.bus.correlated == before
        health = (await gateway.client.get("/health")).json()
        assert health["requests_in_flight"] == 0
        for result in late:
            gateway.bus.deliver(result)


async def test_requests_in_flight_are_counted_while_they_wait(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=store) as gateway, trio.open_nursery() as nursery:
        nursery.start_soon(gateway.encode, "a")
        await trio.sleep(1)
        assert (await gateway.client.get("/health")).json()["requests_in_flight"] == 1
        gateway.bus.deliver(success(gateway.bus.work[0]))
        await trio.sleep(1)
        assert (await gateway.client.get("/health")).json()["requests_in_flight"] == 0


async def test_errors_are_msgpack_only_when_asked_for_by_name(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        asked = await gateway.client.post("/v1/encode/nope", headers={"Accept": "application/msgpack"})
        mirrored = await gateway.client.post("/v1/encode/nope", headers={"Content-Type": "application/msgpack"})
    assert msgpack.unpackb(asked.content)["detail"]["code"] == "MODEL_NOT_FOUND"
    assert asked.headers["content-type"] == "application/msgpack"
    assert mirrored.json()["detail"]["code"] == "MODEL_NOT_FOUND"


async def test_a_body_over_the_cap_is_413_and_names_the_limit(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        response = await gateway.client.post(f"/v1/encode/{MODEL}", content=b"x" * (34 * 1024 * 1024 + 1))
    assert response.status_code == 413
    assert response.json()["detail"]["code"] == "PAYLOAD_TOO_LARGE"
    assert str(34 * 1024 * 1024) in response.json()["detail"]["message"]
