"""How do tests make JetStream give work up, and see what is left of it? On any bus, real or not."""

from collections.abc import Sequence

import attrs
import trio

from sie.bus.api import Bus, Message
from sie.bus.jetstream import ConsumerSpec, StreamSpec, ensure_consumer, ensure_stream, nak, open_puller
from sie.bus.jetstream_api import Storage
from sie.bus.request import request
from sie.bus.stored import read_span, read_stored
from sie.bus.work_streams import lane_consumer_spec, work_stream_spec
from sie.domain.ids import BundleName, MachineProfile, ModelId, PoolName
from sie.domain.lane import Lane
from sie.domain.subjects import ADVISORIES, DEAD_LETTERS, work_subject
from sie.wire.dead_letter import DeadLetter, decode_dead_letter
from sie.wire.work import WorkItem, encode_work
from tests.bus.waiting import CEILING_S, until

LANE = Lane(PoolName("default"), MachineProfile("l4"), BundleName("default"))
MODEL = ModelId("acme/small")
SUBJECT = work_subject(LANE, MODEL)
CONSUMER = attrs.evolve(lane_consumer_spec(LANE), max_deliver=2, ack_wait_s=1.0)


def stream_spec(storage: Storage = "memory") -> StreamSpec:
    return work_stream_spec(LANE.pool, storage=storage, replicas=1, max_age_s=1800)


def work(number: int = 0, *, text: str = "hello", router: str = "gw-1") -> WorkItem:
    return WorkItem(
        work_item_id=f"r1.{number}",
        request_id="r1",
        item_index=number,
        total_items=1,
        operation="encode",
        model_id=MODEL,
        profile_id="default",
        pool_name=LANE.pool,
        admission_pool=LANE.pool,
        machine_profile=LANE.machine_profile,
        router_id=router,
        reply_subject=f"_INBOX.{router}.r1",
        timestamp=1_800_000_000.0,
        bundle_config_hash="abc",
        item={"text": text},
    )


async def queue(bus: Bus, items: Sequence[WorkItem], *, storage: Storage = "memory") -> None:
    await ensure_stream(bus, stream_spec(storage))
    await ensure_consumer(bus, CONSUMER)
    for item in items:
        headers = {"Nats-Msg-Id": item.work_item_id}
        await request(bus, SUBJECT, encode_work(item), timeout_s=CEILING_S, headers=headers)


async def exhaust(bus: Bus, count: int, consumer: ConsumerSpec = CONSUMER) -> list[Message]:
    """Give every delivery back until the broker has given `count` messages up; its advisories."""
    advisories: list[Message] = []
    async with (
        bus.subscribe(ADVISORIES, advisories.append),
        open_puller(bus, stream=consumer.stream, consumer=consumer.name, capacity=8) as puller,
        trio.open_nursery() as nursery,
    ):

        async def give_back_forever() -> None:
            while True:
                nak(bus, await puller.receive())

        nursery.start_soon(give_back_forever)
        with trio.fail_after(CEILING_S):
            await until(lambda: len(advisories) >= count)
        nursery.cancel_scope.cancel()
    return advisories


async def count_in(bus: Bus, stream: str) -> int:
    span = await read_span(bus, stream)
    found = [await read_stored(bus, stream, seq) for seq in range(span.first, span.last + 1)] if span else []
    return sum(message is not None for message in found)


async def letters_in(bus: Bus) -> list[DeadLetter]:
    span = await read_span(bus, DEAD_LETTERS)
    found = [await read_stored(bus, DEAD_LETTERS, seq) for seq in range(span.first, span.last + 1)] if span else []
    return [decode_dead_letter(message.data) for message in found if message is not None]
