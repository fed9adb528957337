"""What killed workers leave at the broker is swept (§8.2): a real nats-server and the double of it."""

from pathlib import Path
from random import Random

import pytest
import trio

from sie.bus.jetstream import StreamSpec, ack, ensure_consumer, ensure_stream, open_puller
from sie.bus.streams import delete_stream, held_messages, stream_names
from sie.bus.work_streams import work_stream_spec, worker_consumer_spec, worker_stream_spec
from sie.domain.ids import ModelId, WorkerId
from sie.domain.subjects import direct_subject, worker_consumer, worker_stream
from sie.gateway.dispatch.leftovers import Sweep
from tests.bus.either import KINDS, Kind, open_either
from tests.worker.doubles import LANE, MODEL

pytestmark = [pytest.mark.system]

ALIVE, GONE, OWED = WorkerId("w1"), WorkerId("w2"), WorkerId("w3")
POOL = work_stream_spec(LANE.pool, storage="memory", replicas=1, max_age_s=1800)


def own(worker: WorkerId) -> StreamSpec:
    return worker_stream_spec(LANE, worker, storage="memory", replicas=1, max_age_s=1800)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_empty_stream_of_a_worker_that_is_gone_is_deleted_and_no_other(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(30):
        async with open_either(kind, tmp_path) as broker, broker.bus("gw-1") as bus:
            await bus.wait_session()
            for spec in (POOL, own(ALIVE), own(GONE), own(OWED)):
                await ensure_stream(bus, spec)
            await ensure_consumer(bus, worker_consumer_spec(LANE, GONE))
            await ensure_consumer(bus, worker_consumer_spec(LANE, OWED))
            bus.publish_nowait(direct_subject(LANE, ModelId(MODEL), OWED), b"work")
            sweep = Sweep(bus, lambda: [ALIVE], Random(1))
            await sweep.sweep_once()
            assert len(await stream_names(bus)) == 4
            await sweep.sweep_once()
            assert set(await stream_names(bus)) == {POOL.name, worker_stream(ALIVE), worker_stream(OWED)}

            async with open_puller(bus, stream=worker_stream(OWED), consumer=worker_consumer(OWED), capacity=1) as mine:
                delivery = await mine.receive()
                await sweep.sweep_once()
                assert await held_messages(bus, worker_stream(OWED)) == 1
                ack(bus, delivery)
            while await held_messages(bus, worker_stream(OWED)):  # noqa: ASYNC110 - the broker is asked
                await trio.sleep(0.02)
            await sweep.sweep_once()
            assert set(await stream_names(bus)) == {POOL.name, worker_stream(ALIVE)}
            assert await held_messages(bus, worker_stream(OWED)) is None
            assert not await delete_stream(bus, worker_stream(OWED))
