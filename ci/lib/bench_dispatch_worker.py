"""The worker of `ci/bench dispatch`: takes work as fast as it comes and answers with a result that was made beforehand.

Run as `python -m ci.lib.bench_dispatch_worker NATS_URL`. It writes a line once it consumes, and ends with its input.
"""

import asyncio
import contextlib
import sys
from hashlib import sha256

import attrs
import msgpack
import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg

from ci.lib.bench_dispatch_facts import CHUNKED_BYTES, CHUNKS, LANE, SILENT, STATUS, answer_blob, consumer, stream
from sie.bus.jetstream_api import encode_consumer, encode_json, encode_pull, encode_stream
from sie.domain.subjects import health_subject
from sie.wire.heartbeat import encode_heartbeat
from sie.wire.result_chunk import ResultChunk, encode_chunk

BATCH = 500
"""Of one pull. The next is asked for while half of it is still to come, so that the broker always has one."""
EXPIRES_S = 3600.0
BEAT_S = 2.0
PULLED = "_INBOX.bench.pulled"
PARTS = 2


@attrs.define
class Worker:
    client: Client
    asked: int = 0
    common: dict[str, object] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.common = {
            "success": True,
            "result_msgpack": answer_blob(),
            "inference_ms": 3.25,
            "queue_ms": 0.5,
            "processing_ms": 4.0,
            "worker_id": str(STATUS.worker),
            "units": {"input_tokens": 12},
            "executed_bundle_config_hash": STATUS.bundle_config_hash,
        }

    async def take(self, message: Msg) -> None:
        if not message.reply:  # a pull's status
            return
        self.asked -= 1
        if self.asked <= BATCH // 2:
            await self.pull()
        work = msgpack.unpackb(message.data)
        text = work["item"]["text"]
        if text != SILENT:
            for data in self.answer(work, in_chunks=text == CHUNKS):
                await self.client.publish(work["reply_subject"], data)
        await self.client.publish(message.reply, b"+ACK")

    async def pull(self) -> None:
        self.asked += BATCH
        call = f"$JS.API.CONSUMER.MSG.NEXT.{stream().name}.{consumer().name}"
        await self.client.publish(call, encode_pull(BATCH, EXPIRES_S), reply=PULLED)

    def answer(self, work: dict[str, object], *, in_chunks: bool) -> list[bytes]:
        ids = {name: work[name] for name in ("work_item_id", "request_id", "item_index")}
        if not in_chunks:
            return [msgpack.packb({**ids, **self.common})]
        whole = msgpack.packb({**ids, **self.common, "result_msgpack": bytes(CHUNKED_BYTES)})
        return [encode_chunk(chunk) for chunk in chunks_of(whole, work)]


def chunks_of(whole: bytes, work: dict[str, object]) -> list[ResultChunk]:
    size = -(-len(whole) // PARTS)
    return [
        ResultChunk(
            work_item_id=str(work["work_item_id"]),
            request_id=str(work["request_id"]),
            item_index=int(str(work["item_index"])),
            transfer_digest=sha256(whole).digest(),
            chunk_index=index,
            chunk_count=PARTS,
            total_bytes=len(whole),
            payload=whole[index * size : (index + 1) * size],
        )
        for index in range(PARTS)
    ]


async def beat_forever(client: Client) -> None:
    beat = encode_heartbeat(STATUS)
    while True:
        await client.publish(health_subject(STATUS.worker), beat)
        await asyncio.sleep(BEAT_S)


async def work(url: str) -> None:
    client = Client()
    await client.connect(url)
    await client.request(f"$JS.API.STREAM.CREATE.{stream().name}", encode_json(encode_stream(stream())))
    made = {"stream_name": stream().name, "config": encode_consumer(consumer()), "action": "create"}
    call = f"$JS.API.CONSUMER.CREATE.{stream().name}.{consumer().name}.{consumer().filter_subject}"
    await client.request(call, encode_json(made))
    worker = Worker(client)
    await client.subscribe(PULLED, cb=worker.take, pending_msgs_limit=0, pending_bytes_limit=0)
    await worker.pull()
    beating = asyncio.create_task(beat_forever(client))
    print(f"ready for lane {LANE}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    beating.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await beating
    await client.close()


if __name__ == "__main__":
    uvloop.run(work(sys.argv[1]))
