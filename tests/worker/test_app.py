"""The whole worker (§2, §8, §16.2): real code between scripted surroundings, on a clock that jumps."""

import itertools

import attrs
import pytest
import trio
import trio.testing

from sie.bus.api import ReplyTimeout
from sie.domain.worker import HEARTBEAT_INTERVAL_S
from sie.wire.codec import pack
from sie.wire.heartbeat import decode_heartbeat
from sie.wire.ipc import EncodeBatch, Failed, Finished, LoadModel
from sie.worker.core.flights import MAX_BATCHES
from sie.worker.core.held_work import FULL_ITEMS
from sie.worker.settings import WorkerSettings
from tests.worker.doubles import HASH, MODEL, OTHER, REPLY, UNIX_S, WORKER, Peer, delivery, finished, work
from tests.worker.stage import ScriptedAuthority, until, words_of, worker

Clock = trio.testing.MockClock


async def hang(peer: Peer) -> None:
    async def on_batch(_: EncodeBatch) -> None:
        await trio.sleep_forever()

    await peer.serve(on_batch)


async def take_a_minute(peer: Peer) -> None:
    async def on_batch(_: EncodeBatch) -> None:
        await trio.sleep(60)

    await peer.serve(on_batch)


async def take_a_second(peer: Peer) -> None:
    async def on_batch(_: EncodeBatch) -> None:
        await trio.sleep(1)

    await peer.serve(on_batch)


async def refuse_loads(peer: Peer) -> None:
    await peer.greet()
    while isinstance(request := await peer.hear(), LoadModel):
        await peer.say(
            Failed(
                id=request.id,
                error_code="MODEL_LOAD_FAILED",
                error="NETWORK: no route",
                permanent=False,
                error_class="NETWORK",
            )
        )


async def load_slowly(peer: Peer) -> None:
    await peer.greet()
    request = await peer.hear()
    assert isinstance(request, LoadModel)
    await trio.sleep(100)
    await peer.say(Finished(id=request.id))
    while isinstance(batch := await peer.hear(), EncodeBatch):
        await peer.say(finished(batch))


async def die_once_at_a_batch(peer: Peer) -> None:
    await peer.greet()
    while isinstance(request := await peer.hear(), LoadModel):
        await peer.say(Finished(id=request.id))


async def test_an_item_is_answered_and_then_acked(autojump_clock: Clock) -> None:
    async with worker() as stage:
        stage.queue.put(delivery(work(text="hi")))
        (result,) = await stage.results(1)
        assert words_of(stage) == {1: [b"+ACK"]}
        subjects = [m.subject for m in stage.bus.published if not m.subject.startswith("sie.health.")]
        assert subjects[0] == REPLY
    assert result.result_msgpack == b"hi"
    assert (result.work_item_id, result.item_index, result.worker_id) == ("r1.0", 0, WORKER)
    assert result.units == {"input_tokens": 3}
    assert result.executed_bundle_config_hash == HASH
    assert result.queue_ms == 500.0
    assert (result.tokenization_ms, result.inference_ms, result.postprocessing_ms) == (1.0, 2.0, 0.5)


async def test_a_worker_says_what_it_does_until_it_is_ready(autojump_clock: Clock) -> None:
    async with worker(load_slowly, preload=(MODEL.upper(),)) as stage:
        await until(lambda: any(b"waiting for the backend" in beat for beat in stage.bus.heartbeats()))
        assert not stage.status().ready
        assert stage.status().bundle_config_hash == HASH
        await stage.until_ready()
        states = {model.serving_id: (model.state, model.activity) for model in stage.status().models}
        assert states[MODEL] == ("loaded", "ready")
        assert states[OTHER] == ("available", "")
        assert stage.status().loaded == (MODEL,)


async def test_the_export_is_read_again_until_that_works(autojump_clock: Clock) -> None:
    authority = ScriptedAuthority(failures=5)
    async with worker(authority=authority) as stage:
        await stage.until_ready()
    assert authority.reads == 6


async def test_a_stop_while_the_export_cannot_be_read_ends_the_worker(autojump_clock: Clock) -> None:
    async with worker(authority=ScriptedAuthority(failures=1_000_000)) as stage:
        await trio.sleep(50)
        stage.stop.set()
        with trio.fail_after(1):
            await stage.ended.wait()


async def test_a_heartbeat_goes_out_every_interval_and_at_once_on_a_change(autojump_clock: Clock) -> None:
    async with worker() as stage:
        await stage.until_ready()
        await trio.sleep(1)
        before = len(stage.bus.heartbeats())
        await trio.sleep(10 * HEARTBEAT_INTERVAL_S)
        assert len(stage.bus.heartbeats()) - before in (9, 10, 11)
        before = len(stage.bus.heartbeats())
        stage.queue.put(delivery(work()))
        await trio.sleep(0.2)
        assert len(stage.bus.heartbeats()) > before


async def test_no_heartbeat_is_tried_without_a_connection_and_one_greets_the_next(autojump_clock: Clock) -> None:
    async with worker() as stage:
        await stage.until_ready()
        stage.bus.drop()
        await trio.sleep(10)
        stage.bus.published.clear()
        stage.bus.connect(2)
        await trio.sleep(0.2)
        assert stage.bus.heartbeats()


async def test_the_stop_is_said_at_once_and_said_last(autojump_clock: Clock) -> None:
    async with worker(take_a_second) as stage:
        stage.queue.put(delivery(work()))
        await until(lambda: stage.queue.ensured == 1 and not stage.queue.buffered)
        await stage.until_ready()
        assert not stage.bus.results()
        stage.stop.set()
        await trio.sleep(0.1)
        assert stage.status().draining
        await stage.ended.wait()
        assert stage.status().draining
        assert [m.subject.partition(".")[0] for m in stage.bus.published[-1:]] == ["sie"]
        assert len(stage.bus.results()) == 1


async def test_at_the_stop_what_waits_goes_back_and_what_runs_is_finished(autojump_clock: Clock) -> None:
    async with worker(take_a_second, preload=(MODEL,)) as stage:
        await stage.until_ready()
        long = "x" * 400  # two fill a batch
        stage.queue.put(*(delivery(work(n, text=long), n + 1) for n in range(100)))
        await until(lambda: not stage.queue.buffered)
        await trio.sleep(0.1)
        stage.stop.set()
        await stage.ended.wait()
        told = words_of(stage)
        answered = {result.item_index + 1 for result in stage.bus.results()}
        assert len(answered) == 2 * MAX_BATCHES
        assert {seq for seq, words in told.items() if words == [b"+ACK"]} == answered
        assert {seq for seq, words in told.items() if words == [b"-NAK"]} == set(range(1, 101)) - answered


async def test_a_batch_that_outlasts_the_bound_of_the_drain_goes_back_too(autojump_clock: Clock) -> None:
    async with worker(hang, preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work()))
        await trio.sleep(0.1)
        began = trio.current_time()
        stage.stop.set()
        await stage.ended.wait()
        assert trio.current_time() - began == pytest.approx(WorkerSettings().drain_grace_s)
        assert words_of(stage)[1][-1] == b"-NAK"


async def test_leases_are_renewed_while_work_waits_and_runs(autojump_clock: Clock) -> None:
    async with worker(take_a_minute) as stage:
        stage.queue.put(delivery(work()))
        await stage.results(1)
        told = words_of(stage)[1]
        assert told[-1] == b"+ACK"
        assert told[:-1] == [b"+WPI"] * len(told[:-1])
        assert 3 <= len(told[:-1]) <= 6


async def test_a_backend_that_dies_during_a_request_is_replaced_and_the_request_answered_once(
    autojump_clock: Clock,
) -> None:
    async with worker(die_once_at_a_batch, take_a_second, preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work(text="hi")))
        (result,) = await stage.results(1)
        await trio.sleep(60)
        assert result.result_msgpack == b"hi"
        assert len(stage.bus.results()) == 1
        assert words_of(stage)[1][-1] == b"+ACK"
        assert all(decode_heartbeat(beat).ready for beat in stage.bus.heartbeats()[-20:])


async def test_poison_gets_a_typed_error_and_its_ack(autojump_clock: Clock) -> None:
    async with worker(die_once_at_a_batch) as stage:
        stage.queue.put(delivery(work()))
        (result,) = await stage.results(1)
        assert (result.success, result.error_code) == (False, "inference_error")
        assert stage.launch.launched >= 3
        assert words_of(stage)[1][-1] == b"+ACK"


async def test_without_a_connection_a_result_is_dropped_and_its_work_given_back_in_the_next_one(
    autojump_clock: Clock,
) -> None:
    async with worker(take_a_second) as stage:
        stage.queue.put(delivery(work()))
        await until(lambda: not stage.queue.buffered)
        stage.bus.drop()
        await trio.sleep(10)
        stage.bus.connect(2)
        await trio.sleep(10)
        assert stage.bus.results() == []
        assert words_of(stage) == {1: [b'-NAK {"delay": 5000000000}']}
        stage.queue.put(delivery(work(), deliveries=2))
        await stage.results(1)
        assert words_of(stage)[1][1:] == [b"+ACK"]


async def test_a_lost_consumer_is_ensured_again_and_what_was_held_is_answered_without_an_ack(
    autojump_clock: Clock,
) -> None:
    async with worker(take_a_second, preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work(0)))
        await trio.sleep(0.1)
        stage.queue.lose()
        await until(lambda: stage.queue.ensured == 2)
        await stage.results(1)
        assert words_of(stage) == {}
        stage.queue.put(delivery(work(1), 1))
        await stage.results(2)
        assert words_of(stage) == {1: [b"+ACK"]}


async def test_a_queue_that_cannot_be_ensured_is_tried_again(autojump_clock: Clock) -> None:
    async with worker() as stage:
        stage.queue.failures += [ReplyTimeout("no leader"), ReplyTimeout("no leader")]
        stage.queue.put(delivery(work()))
        await stage.results(1)
        assert not stage.queue.failures


async def test_pulling_stops_while_the_desk_is_full(autojump_clock: Clock) -> None:
    async with worker(hang, preload=(MODEL,)) as stage:
        await stage.until_ready()
        stage.queue.put(*(delivery(work(n), n + 1) for n in range(FULL_ITEMS)))
        await until(lambda: not stage.queue.buffered)
        await trio.sleep(1)
        assert (stage.queue.opened, stage.queue.left) == (1, 1)
        stage.queue.put(delivery(work(FULL_ITEMS), FULL_ITEMS + 1))
        await trio.sleep(60)
        assert len(stage.queue.buffered) == 1


async def test_pulling_goes_on_when_there_is_room_again(autojump_clock: Clock) -> None:
    async with worker(take_a_second, preload=(MODEL,)) as stage:
        await stage.until_ready()
        for start in range(0, 3 * FULL_ITEMS, FULL_ITEMS):
            stage.queue.put(*(delivery(work(n), n + 1) for n in range(start, start + FULL_ITEMS)))
            await stage.results(start + FULL_ITEMS)
        assert stage.queue.opened > 1


async def test_a_result_too_large_for_the_broker_becomes_a_typed_error(autojump_clock: Clock) -> None:
    async with worker() as stage:
        stage.bus.max_payload = 1500
        stage.queue.put(delivery(work(text="x" * 5000)))
        (result,) = await stage.results(1)
        assert (result.success, result.error_code) == (False, "PAYLOAD_TOO_LARGE")
        assert "1500" in (result.error or "")
        assert words_of(stage) == {1: [b"+ACK"]}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model_id": "acme/unknown"}, "MODEL_NOT_FOUND"),
        ({"profile_id": "unknown"}, "MODEL_NOT_FOUND"),
        ({"operation": "score"}, "INVALID_INPUT"),
        ({"operation": "extract"}, "INVALID_INPUT"),
        ({"item": None}, "INVALID_INPUT"),
        ({"item": {"images": []}}, "INVALID_INPUT"),
    ],
)
async def test_work_that_cannot_run_here_is_refused_with_a_typed_error(
    autojump_clock: Clock, changes: dict[str, object], code: str
) -> None:
    async with worker() as stage:
        stage.queue.put(delivery(pack({**attrs.asdict(work()), **changes})))
        (result,) = await stage.results(1)
        assert (result.success, result.error_code) == (False, code)
        assert words_of(stage) == {1: [b"+ACK"]}


async def test_work_past_its_deadline_is_acked_and_dropped(autojump_clock: Clock) -> None:
    async with worker() as stage:
        stage.queue.put(delivery(attrs.evolve(work(), deadline=UNIX_S - 1)))
        await until(lambda: bool(stage.bus.words()))
        assert words_of(stage) == {1: [b"+ACK"]}
        assert stage.bus.results() == []


async def test_work_of_another_configuration_is_given_back_with_a_delay(autojump_clock: Clock) -> None:
    async with worker() as stage:
        stage.queue.put(delivery(attrs.evolve(work(), bundle_config_hash="f" * 64)))
        await until(lambda: bool(stage.bus.words()))
        assert words_of(stage) == {1: [b'-NAK {"delay": 5000000000}']}


async def test_what_is_no_work_item_is_discarded_and_where_somebody_can_be_told_answered(autojump_clock: Clock) -> None:
    torn = {"work_item_id": "r1.0", "request_id": "r1", "item_index": 0, "reply_subject": REPLY}
    async with worker() as stage:
        stage.queue.put(delivery(b"\xc1", 1), delivery(pack(torn), 2))
        (result,) = await stage.results(1)
        assert result.error_code == "INVALID_REQUEST"
        assert words_of(stage) == {1: [b"+TERM"], 2: [b"+ACK"]}


async def test_a_failed_load_refuses_its_items_until_the_model_has_rested(autojump_clock: Clock) -> None:
    async with worker(refuse_loads) as stage:
        stage.queue.put(delivery(work(0), 1))
        await stage.results(1)
        stage.queue.put(delivery(work(1), 2))
        first, second = await stage.results(2)
        assert (first.error_code, first.error) == ("MODEL_LOAD_FAILED", "NETWORK: no route")
        assert second.error_code == "MODEL_LOAD_FAILED"
        assert second.retry_after_s == 30
        assert (second.error_class, second.attempts, second.permanent) == ("NETWORK", 1, False)
        assert [m.state for m in stage.status().models if m.serving_id == MODEL] == ["failed"]
        assert words_of(stage) == {1: [b"+ACK"], 2: [b"+ACK"]}


async def test_a_preloaded_model_is_tried_again_after_its_rest(autojump_clock: Clock) -> None:
    tries: list[float] = []

    async def fail_twice(peer: Peer) -> None:
        await peer.greet()
        while isinstance(request := await peer.hear(), LoadModel):
            tries.append(trio.current_time())
            failed = Failed(id=request.id, error_code="MODEL_LOAD_FAILED", error="no route", permanent=False)
            failed = attrs.evolve(failed, error_class="NETWORK")
            await peer.say(failed if len(tries) < 3 else Finished(id=request.id))

    async with worker(fail_twice, preload=(MODEL,)) as stage:
        await stage.until_ready()
    assert [later - before for before, later in itertools.pairwise(tries)] == [30.0, 60.0]


async def test_preloading_an_unknown_model_keeps_the_worker_unready_and_says_why(autojump_clock: Clock) -> None:
    async with worker(preload=("acme/unknown",)) as stage:
        await trio.sleep(100)
        assert not stage.status().ready
        (failed,) = [model for model in stage.status().models if model.state == "failed"]
        assert (failed.serving_id, failed.error_code) == ("acme/unknown", "MODEL_NOT_FOUND")


async def test_items_of_two_models_run_in_batches_of_their_own(autojump_clock: Clock) -> None:
    seen: list[tuple[str, int]] = []

    async def note(peer: Peer) -> None:
        async def on_batch(batch: EncodeBatch) -> None:
            seen.append((batch.serving_id, len(batch.items)))

        await peer.serve(on_batch)

    async with worker(note, preload=(MODEL, OTHER)) as stage:
        await stage.until_ready()
        items = [attrs.evolve(work(n), model_id=(MODEL, OTHER)[n % 2]) for n in range(6)]
        stage.queue.put(*(delivery(item, n + 1) for n, item in enumerate(items)))
        await stage.results(6)
    assert sorted(seen) == [(OTHER, 3), (MODEL, 3)]
