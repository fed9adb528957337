"""What becomes of work between the gateway and the bus: admission, cancels, direct work and its fallback (§2, §8.2)."""

from collections.abc import Callable, Mapping

import attrs
import trio
import trio.testing
from trio.testing import MockClock

from sie.bus.api import Message
from sie.gateway.pools.upkeep import LOOK_S
from sie.gateway.settings import GatewaySettings
from sie.wire.cancel import BatchCancel, WorkCancel, decode_cancel
from sie.wire.work import decode_work
from tests.gateway.doubles import Gateway, ScriptedBus, answer_at_once, is_direct, open_gateway, store, success

SETTINGS = GatewaySettings(config_service_url="http://config", request_timeout_s=30.0, max_stream_pending=10)
POOL = {"name": "acme", "gpus": {"default": 1}, "gpu_caps": {"default": 1}}
IN_POOL = {"X-SIE-Pool": "acme"}


def cancels(gateway: Gateway) -> list[Message]:
    return [m for m in gateway.bus.published if "_cancel." in m.subject]


async def hold_pool(gateway: Gateway) -> None:
    """And wait until the pool has seen who works."""
    assert (await gateway.client.post("/v1/pools", json=POOL)).status_code == 201
    await trio.sleep(LOOK_S + 0.1)


async def encode_in_pool(gateway: Gateway, count: int = 1) -> int:
    body = {"items": [{"text": str(n)} for n in range(count)]}
    reply = await gateway.client.post("/v1/encode/acme/small", json=body, headers=IN_POOL)
    return reply.status_code


async def test_a_full_stream_takes_no_more_and_says_when_to_come_again(autojump_clock: MockClock) -> None:
    """Expectation 16."""
    async with open_gateway(settings=SETTINGS, on_work=answer_at_once) as gateway:
        gateway.bus.waiting = 10
        refused = await gateway.encode("a")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert refused.json()["error"]["code"] == "QUEUE_FULL"
        assert "10" in refused.json()["error"]["message"]
        assert not gateway.bus.work
        gateway.bus.waiting = 9
        await trio.sleep(1.1)
        assert (await gateway.encode("a")).status_code == 200


async def test_a_lane_over_its_limit_refuses_only_where_that_is_switched_on(autojump_clock: MockClock) -> None:
    for is_enforced, expected in ((False, 200), (True, 503)):
        settings = attrs.evolve(SETTINGS, max_lane_in_flight_items=1, lane_backpressure_enforce=is_enforced)
        codes = list[int]()

        async def ask(gateway: Gateway, codes: list[int] = codes) -> None:
            codes.append((await gateway.encode("a")).status_code)

        async with open_gateway(settings=settings, on_work=store) as gateway, trio.open_nursery() as nursery:
            nursery.start_soon(ask, gateway)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(ask, gateway)
            await trio.testing.wait_all_tasks_blocked()
            for item in gateway.bus.work:
                gateway.bus.deliver(success(item))
        assert sorted(codes) == sorted([200, expected])


async def test_without_a_consumer_it_is_provisioning_after_a_short_wait(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answer_at_once) as gateway:
        gateway.bus.consumers = 0
        began_s = trio.current_time()
        reply = await gateway.encode("a")
        assert 2 <= trio.current_time() - began_s < 2.5
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "60")
        assert reply.json()["error"]["code"] == "PROVISIONING"
        assert not gateway.bus.work


async def test_a_consumer_that_comes_back_in_time_is_waited_for(autojump_clock: MockClock) -> None:
    async def comes_back(bus: ScriptedBus) -> None:
        await trio.sleep(0.5)
        bus.consumers = 1

    async with open_gateway(on_work=answer_at_once) as gateway:
        gateway.bus.consumers = 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(comes_back, gateway.bus)
            assert (await gateway.encode("a")).status_code == 200


async def test_a_client_that_leaves_cancels_its_work(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=store) as gateway:
        with trio.move_on_after(5):
            await gateway.encode("a", "b")
        await trio.testing.wait_all_tasks_blocked()
        request_id = gateway.bus.work[0].request_id
        (message,) = cancels(gateway)
        router = gateway.bus.inbox.removeprefix("_INBOX.")
        assert message.subject == f"work_cancel.{router}.{request_id}"
        assert decode_cancel(message.data, WorkCancel) == WorkCancel(
            router_id=router, request_id=request_id, reason="abandoned"
        )


async def test_a_timeout_cancels_and_an_answer_does_not(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answer_at_once) as gateway:
        assert (await gateway.encode("a")).status_code == 200
        assert not cancels(gateway)
        gateway.bus.on_work = store
        assert (await gateway.encode("a")).status_code == 504
        (message,) = cancels(gateway)
        assert decode_cancel(message.data, WorkCancel).reason == "timeout"


async def test_a_capped_pool_sends_to_its_worker_alone(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=answer_at_once) as gateway:
        await hold_pool(gateway)
        assert await encode_in_pool(gateway, 2) == 200
        sent = [m for m in gateway.bus.published if m.subject.startswith("sie.work.")]
        assert {m.subject for m in sent} == {"sie.work.default.default.default.acme__small.w1"}
        assert {decode_work(m.data).admission_pool for m in sent} == {"acme"}
        assert gateway.bus.streams.keys() >= {"WORK_WORKER_w1"}


def direct_is(what: str) -> Callable[[ScriptedBus, Message], None]:
    """What becomes of direct work; that of the pool's queue is answered at once."""

    def on_work(bus: ScriptedBus, message: Message) -> None:
        if not is_direct(message):
            answer_at_once(bus, message)
        elif what == "refused":
            bus.answer(message, {"error": {"code": 503, "err_code": 10077, "description": "maximum messages exceeded"}})
        elif what == "stored":
            store(bus, message)

    return on_work


async def test_a_refused_direct_publish_goes_to_the_pool_at_once(autojump_clock: MockClock) -> None:
    async with open_gateway(on_work=direct_is("refused")) as gateway:
        await hold_pool(gateway)
        began_s = trio.current_time()
        assert await encode_in_pool(gateway) == 200
        assert trio.current_time() - began_s < 0.1


async def test_what_no_consumer_takes_goes_to_the_pool_after_a_moment(autojump_clock: MockClock) -> None:
    for what in ("stored", "lost"):
        async with open_gateway(on_work=direct_is(what)) as gateway:
            await hold_pool(gateway)
            began_s = trio.current_time()
            assert await encode_in_pool(gateway, 3) == 200
            assert 0.25 <= trio.current_time() - began_s < 0.5
            assert [is_direct(m) for m in gateway.bus.published if m.subject.startswith("sie.work.")] == [
                *[True] * 3,
                *[False] * 3,
            ]


async def test_what_the_worker_was_given_is_not_sent_again(autojump_clock: MockClock) -> None:
    async def answers_late(bus: ScriptedBus) -> None:
        await trio.sleep(5)
        for item in list(bus.work):
            bus.deliver(attrs.evolve(success(item), origin="direct"))

    async with open_gateway(on_work=direct_is("stored")) as gateway:
        await hold_pool(gateway)
        gateway.bus.delivered = 10_000
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answers_late, gateway.bus)
            assert await encode_in_pool(gateway, 2) == 200
        assert len(gateway.bus.work) == 2
        assert not cancels(gateway)


async def test_after_the_fallback_a_direct_result_does_not_count_and_the_worker_is_told(
    autojump_clock: MockClock,
) -> None:
    async def answers(bus: ScriptedBus) -> None:
        await trio.sleep(1)
        direct, pooled = bus.work
        bus.deliver(attrs.evolve(success(direct, [9.0, 9.0]), origin="direct"))
        await trio.sleep(1)
        bus.deliver(success(pooled, [1.0, 2.0]))

    async with open_gateway(on_work=store) as gateway:
        await hold_pool(gateway)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answers, gateway.bus)
            body = {"items": [{"text": "a"}]}
            reply = await gateway.client.post("/v1/encode/acme/small", json=body, headers=IN_POOL)
        assert reply.json()["items"][0]["dense"]["values"] == [1.0, 2.0]
        (message,) = cancels(gateway)
        router, request_id = gateway.bus.inbox.removeprefix("_INBOX."), gateway.bus.work[0].request_id
        assert message.subject == f"batch_cancel.{router}.w1.{request_id}"
        assert decode_cancel(message.data, BatchCancel).item_indexes == (0,)


async def test_a_direct_publish_that_nobody_stores_anywhere_ends_the_request(autojump_clock: MockClock) -> None:
    refusal: Mapping[str, object] = {"error": {"code": 503, "err_code": 10077, "description": "full"}}
    async with open_gateway(on_work=lambda bus, message: bus.answer(message, refusal)) as gateway:
        await hold_pool(gateway)
        assert await encode_in_pool(gateway) == 503
