"""The gateway's view of its workers, from heartbeats (§8, wire-facts 2.5)."""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import BusError, Handler, Message
from sie.gateway.core.fleet import Fleet
from sie.gateway.sync.health import Heartbeats, hear_forever
from sie.wire.work import decode_work
from tests.gateway.doubles import MODEL, Gateway, ScriptedBus, failure, open_gateway, store


async def rows(gateway: Gateway) -> Mapping[str, Mapping[str, object]]:
    return {row["name"]: row for row in (await gateway.client.get("/health")).json()["workers"]}


async def test_a_worker_that_is_silent_for_the_stale_bound_is_not_there(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        await trio.sleep(14)
        assert list(await rows(gateway)) == ["w1"]
        gateway.beat(name="w2")
        await trio.sleep(2)
        assert list(await rows(gateway)) == ["w2"]
        await trio.sleep(20)
        assert (await gateway.client.get("/health")).json()["status"] == "degraded"


async def test_a_draining_worker_is_out_at_once(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.beat(draining=True)
        health = (await gateway.client.get("/health")).json()
        reply = await gateway.encode("a")
    assert (health["cluster"]["worker_count"], health["workers"][0]["draining"]) == (0, True)
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "PROVISIONING")


async def test_a_heartbeat_may_be_json(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        beat = json.dumps({"name": "w9", "ready": True}).encode()
        gateway.bus.subscribed["sie.health.>"](Message("sie.health.w9", beat))
        assert (await rows(gateway))["w9"]["healthy"] is True


async def test_an_unknown_model_state_drops_neither_the_beat_nor_the_model(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        gateway.beat(models=[{"name": MODEL, "state": "warming up"}])
        (model,) = (await gateway.client.get("/health")).json()["workers"][0]["models"]
        info = (await gateway.client.get(f"/v1/models/{MODEL}")).json()
    assert (model["state"], model["activity"]) == ("available", "warming up")
    assert info["state"] == "available"


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (("loaded", "loading"), "loading"),
        (("loaded", "unloading"), "unloading"),
        (("loaded", "failed"), "loaded"),
        (("failed", "available"), "failed"),
        (("available",), "available"),
        ((), "available"),
    ],
)
async def test_where_workers_differ_about_a_model_the_first_of_the_order_is_told(
    states: tuple[str, ...], told: str, autojump_clock: MockClock
) -> None:
    async with open_gateway(with_worker=False) as gateway:
        for number, state in enumerate(states):
            gateway.beat(name=f"w{number}", models=[{"name": MODEL, "state": state}])
        info = (await gateway.client.get(f"/v1/models/{MODEL}")).json()
    assert (info["state"], info["loaded"]) == (told, "loaded" in states)


async def test_the_last_error_of_a_model_is_that_of_a_worker_that_failed(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        row = {"name": MODEL, "state": "failed", "error_code": "GATED", "error": "ask for access"}
        gateway.beat(models=[row])
        failed = (await gateway.client.get(f"/v1/models/{MODEL}")).json()["last_error"]
        gateway.beat(models=[{"name": MODEL, "state": "loaded"}])
        assert (await gateway.client.get(f"/v1/models/{MODEL}")).json()["last_error"] is None
    assert (failed["code"], failed["message"]) == ("GATED", "ask for access")


async def test_a_worker_is_full_from_the_upper_mark_until_the_lower_one(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        told = []
        for depth in (89, 90, 71, 70, 89):
            gateway.beat(max_batch_requests=100, queue_depth=depth)
            told.append((await rows(gateway))["w1"]["saturated"])
    assert told == [False, True, True, False, False]


async def test_results_out_of_memory_never_make_a_worker_unhealthy(autojump_clock: MockClock) -> None:
    def out_of_memory(bus: ScriptedBus, message: Message) -> None:
        store(bus, message)
        result = failure(decode_work(message.data), "RESOURCE_EXHAUSTED")
        bus.deliver(attrs.evolve(result, worker_id="w1"))

    async with open_gateway(on_work=out_of_memory) as gateway:
        for _ in range(5):
            reply = await gateway.encode("a")
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "RESOURCE_EXHAUSTED")
        assert (await rows(gateway))["w1"]["healthy"] is True


async def test_health_counts_devices_memory_and_the_config_service(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        gpus = [{"gpu_type": "l4", "memory_used_bytes": 3, "memory_total_bytes": 10}] * 2
        gateway.beat(gpu_count=2, gpus=gpus, loaded_models=[MODEL], queue_depth=4)
        health = (await gateway.client.get("/health")).json()
    assert health["cluster"] == {"worker_count": 1, "gpu_count": 2, "models_loaded": 1, "total_qps": 0.0}
    assert health["bootstrap"] == {"done": True, "attempts": 1, "degraded": False}
    assert (health["config_epoch"], health["requests_in_flight"]) == (3, 0)
    assert (health["deltas"], health["polls"]) == ({}, {})
    row = health["workers"][0]
    assert (row["memory_used_bytes"], row["memory_total_bytes"], row["ready_gpu_slots"]) == (6, 20, 2)
    assert health["models"] == [
        {"name": MODEL, "state": "loaded", "worker_count": 1, "gpu_types": ["default"], "total_queue_depth": 4}
    ]


async def test_health_tells_of_a_config_service_that_cannot_be_read(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.authority.failures = 1000
        await trio.sleep(200)
        health = (await gateway.client.get("/health")).json()
    assert health["polls"]["failed"] >= 1


async def test_requests_are_counted_by_the_second(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        for _ in range(20):
            await gateway.encode("a")
        assert (await gateway.client.get("/health")).json()["cluster"]["total_qps"] == 2.0
        await trio.sleep(30)
        assert (await gateway.client.get("/health")).json()["cluster"]["total_qps"] == 0.0


async def test_a_gateway_asks_the_workers_in_each_session_so_that_it_need_not_wait(autojump_clock: MockClock) -> None:
    def asks(bus: ScriptedBus) -> int:
        return sum(message.subject == "sie.ask.health" for message in bus.published)

    async with open_gateway(with_worker=False) as gateway:
        assert asks(gateway.bus) == 1
        gateway.bus.session = 2
        await trio.sleep(2)
        assert asks(gateway.bus) == 2


async def test_a_worker_with_numbers_beyond_all_measure_or_half_characters_breaks_no_reply(
    autojump_clock: MockClock,
) -> None:
    async with open_gateway(with_worker=False) as gateway:
        most = 2**64 - 1
        rows = [{"name": MODEL, "state": "loaded", "queue_depth": most}] * 3
        for number in range(3):
            gateway.beat(name=f"w{number}", models=rows, gpu_count=most, memory_used_bytes=most, memory_total_bytes=1)
        half = json.dumps({"name": "half", "ready": True, "device": "\ud800"}).encode()
        gateway.bus.subscribed["sie.health.>"](Message("sie.health.half", half))
        for path in ("/health", "/", "/v1/models"):
            assert (await gateway.client.get(path)).status_code == 200


@pytest.mark.parametrize("data", [b"\xc1", b"[]", b"{", b"\x81\xa4name\xa3a b", b""])
async def test_a_beat_that_cannot_be_read_is_told_and_dropped(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    fleet = Fleet()
    with caplog.at_level(logging.WARNING):
        Heartbeats(fleet).receive(Message("sie.health.w", data))
    assert "cannot be read" in caplog.text
    assert not list(fleet.heard_of(trio.current_time()))


async def test_a_fault_of_ours_over_one_message_does_not_leave_the_handler(caplog: pytest.LogCaptureFixture) -> None:
    """What leaves a handler ends the bus, and with it every request of the gateway."""

    class Broken(Fleet):
        def observe(self, status: object, now_s: float) -> None:
            raise RuntimeError(f"a fault of ours over {status} at {now_s}")

    with caplog.at_level(logging.CRITICAL, logger="sie.gateway.sync.health"):
        Heartbeats(Broken()).receive(Message("sie.health.w", json.dumps({"name": "w"}).encode()))


@attrs.define(eq=False)
class EndingBus(ScriptedBus):
    """Its subscriptions fail `failures` times, and then end once each time that `end` is set."""

    failures: int = 0
    subscriptions: int = 0

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncIterator[None]:
        self.subscriptions += 1
        if self.failures:
            self.failures -= 1
            raise BusError("the subscription ended")
        async with ScriptedBus.subscribe(self, subject, handler, queue=queue):
            yield


async def test_a_subscription_that_ends_is_made_again_with_a_growing_bounded_wait(autojump_clock: MockClock) -> None:
    bus, fleet = EndingBus("_INBOX.gw", failures=12), Fleet()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hear_forever, bus, fleet)
        with trio.fail_after(10_000):
            while "sie.health.>" not in bus.subscribed:  # noqa: ASYNC110 - the clock jumps
                await trio.sleep(0.1)
        assert bus.subscriptions == 13
        bus.subscribed["sie.health.>"](Message("sie.health.w", json.dumps({"ready": True}).encode()))
        assert [status.worker for status in fleet.taking_work(trio.current_time())] == ["w"]
        nursery.cancel_scope.cancel()
