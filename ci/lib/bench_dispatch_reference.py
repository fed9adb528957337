"""The gateway that ours is measured against: uvicorn, Starlette and nats-py, doing the same for `/v1/encode`, leanly.

Run as `python -m ci.lib.bench_dispatch_reference PORT NATS_URL`. It routes nowhere, checks little, keeps no metrics; a
request is read, published item by item with an ack to come, collected from one wildcard inbox under a deadline that one
sweep watches, and answered. `GET /cpu` tells the seconds of CPU that the process has taken.
"""

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import attrs
import msgpack
import numpy as np
import orjson
import uvicorn
from nats.aio.client import Client
from nats.aio.msg import Msg
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ci.lib.bench_dispatch_facts import CONFIG_HASH, LANE, MODEL, SUBJECT

TIMEOUT_S = 120.0
SWEEP_S = 1.0
INBOX = "_INBOX.reference"


@attrs.define(eq=False)
class Waiting:
    done: asyncio.Future[None]
    results: list[bytes | None]
    missing: int
    until_s: float
    stored: int = 0


@attrs.define
class Gateway:
    url: str
    client: Client = attrs.field(factory=Client)
    waiting: dict[str, Waiting] = attrs.field(factory=dict)

    @asynccontextmanager
    async def running(self, _: Starlette) -> AsyncIterator[None]:
        await self.client.connect(self.url, skip_subject_validation=True)
        await self.client.subscribe(f"{INBOX}.>", cb=self.receive, pending_msgs_limit=0, pending_bytes_limit=0)
        sweeping = asyncio.create_task(self.sweep_forever())
        yield
        sweeping.cancel()
        await self.client.close()

    async def sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            now_s = time.monotonic()
            for waiting in list(self.waiting.values()):
                if waiting.until_s < now_s and not waiting.done.done():
                    waiting.done.set_exception(TimeoutError())

    async def receive(self, message: Msg) -> None:
        tokens = message.subject.split(".")
        waiting = self.waiting.get(tokens[-1])
        if waiting is None or waiting.done.done():
            return
        if len(tokens) == 4:
            if "error" in orjson.loads(message.data):
                waiting.done.set_exception(ConnectionError(message.data))
            waiting.stored += 1
            return
        result = msgpack.unpackb(message.data)
        index = result["item_index"]
        if waiting.results[index] is None:
            waiting.results[index] = result["result_msgpack"]
            waiting.missing -= 1
            if not waiting.missing:
                waiting.done.set_result(None)

    async def encode(self, request: Request) -> Response:
        is_json = "msgpack" not in request.headers.get("content-type", "")
        body = await request.body()
        items = (orjson.loads(body) if is_json else msgpack.unpackb(body))["items"]
        results = await self.answers(items)
        if is_json:
            return Response(json_reply(results), media_type="application/json")
        return Response(msgpack_reply(results), media_type="application/msgpack")

    async def answers(self, items: Sequence[dict[str, object]]) -> Sequence[bytes]:
        name, now = f"{random.getrandbits(64):016x}", time.time()
        done = asyncio.get_running_loop().create_future()
        waiting = Waiting(done, [None] * len(items), len(items), time.monotonic() + TIMEOUT_S)
        self.waiting[name] = waiting
        try:
            for index, item in enumerate(items):
                headers = {"Nats-Msg-Id": f"{name}.{index}"}
                data = work(name, index, len(items), item, now)
                await self.client.publish(SUBJECT, data, reply=f"{INBOX}._ack.{name}", headers=headers)
            await waiting.done
        finally:
            del self.waiting[name]
        return [result for result in waiting.results if result is not None]


def work(name: str, index: int, total: int, item: dict[str, object], now: float) -> bytes:
    packed: bytes = msgpack.packb(
        {
            "work_item_id": f"{name}.{index}",
            "request_id": name,
            "item_index": index,
            "total_items": total,
            "operation": "encode",
            "model_id": MODEL,
            "profile_id": "default",
            "pool_name": LANE.pool,
            "admission_pool": LANE.pool,
            "machine_profile": LANE.machine_profile,
            "router_id": "reference",
            "reply_subject": f"{INBOX}.{name}",
            "timestamp": now,
            "bundle_config_hash": CONFIG_HASH,
            "item": item,
            "deadline": now + TIMEOUT_S,
        }
    )
    return packed


def msgpack_reply(results: Sequence[bytes]) -> bytes:
    packer = msgpack.Packer(autoreset=False)
    packer.pack_map_header(2)
    packer.pack("model")
    packer.pack(MODEL)
    packer.pack("items")
    packer.pack_array_header(len(results))
    return b"".join((packer.bytes(), *results))


def json_reply(results: Sequence[bytes]) -> bytes:
    items = [with_vector(msgpack.unpackb(result, strict_map_key=False)) for result in results]
    return orjson.dumps({"model": MODEL, "items": items}, option=orjson.OPT_SERIALIZE_NUMPY)


def with_vector(item: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    values = item["dense"]["values"]
    assert isinstance(values, dict)
    item["dense"]["values"] = np.frombuffer(values[b"data"], values[b"type"]).reshape(values[b"shape"])
    return item


async def cpu(_: Request) -> Response:
    return Response(str(time.process_time()))


def main(port: int, url: str) -> None:
    gateway = Gateway(url)
    routes = [Route("/v1/encode/{model:path}", gateway.encode, methods=["POST"]), Route("/cpu", cpu)]
    app = Starlette(routes=routes, lifespan=gateway.running)
    uvicorn.run(app, host="127.0.0.1", port=port, loop="uvloop", http="httptools", access_log=False, log_level="error")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
