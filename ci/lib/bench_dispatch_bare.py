"""A bare loop over the bus: the items of a large request, made beforehand, published, stored and answered, no more.

What the gateway's 4,096 items are measured against (`ci/bench dispatch`), in the same process on the same bus.
"""

import time
from collections.abc import Mapping

import attrs
import trio

from ci.lib.bench_dispatch_facts import BULK_ITEMS, BULK_TEXT, CONFIG_HASH, LANE, MODEL, SUBJECT
from sie.bus.api import Message
from sie.bus.nats import open_bus
from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import inbox_prefix, result_subject
from sie.wire.work import WorkItem, encode_work

ROUTER = RouterId("bare")
AT_ONCE = 64
"""As the gateway does (§16.2)."""
WITHIN_S = 60.0


@attrs.define(eq=False)
class Counted:
    expected: int
    seen: int = 0
    all: trio.Event = attrs.field(factory=trio.Event)

    def count(self, _: Message) -> None:
        self.seen += 1
        if self.seen == self.expected:
            self.all.set()


@attrs.frozen
class Bare:
    url: str

    async def once(self) -> Mapping[str, object]:
        request = RequestId(f"bare{time.monotonic_ns()}")
        items = [encode_work(work_of(request, index)) for index in range(BULK_ITEMS)]
        stored, answered = Counted(BULK_ITEMS), Counted(BULK_ITEMS)
        async with open_bus(self.url, inbox=inbox_prefix(ROUTER), name="bare") as bus:
            await bus.wait_session()
            bus.on_inbox(answered.count)
            correlation = bus.correlate(stored.count)
            began_s = time.monotonic()
            with trio.fail_after(WITHIN_S):
                for index, data in enumerate(items):
                    if index and index % AT_ONCE == 0:
                        await trio.lowlevel.checkpoint()
                    headers = {"Nats-Msg-Id": f"{request}.{index}"}
                    bus.publish_nowait(SUBJECT, data, reply=correlation.subject, headers=headers)
                await stored.all.wait()
                await answered.all.wait()
            return {"s": time.monotonic() - began_s}


def work_of(request: RequestId, index: int) -> WorkItem:
    return WorkItem(
        work_item_id=f"{request}.{index}",
        request_id=request,
        item_index=index,
        total_items=BULK_ITEMS,
        operation="encode",
        model_id=MODEL,
        profile_id="default",
        pool_name=LANE.pool,
        admission_pool=LANE.pool,
        machine_profile=LANE.machine_profile,
        router_id=ROUTER,
        reply_subject=result_subject(ROUTER, request),
        timestamp=1.0,
        bundle_config_hash=CONFIG_HASH,
        item={"id": str(index), "text": BULK_TEXT},
        accepts_result_chunks=True,
    )
