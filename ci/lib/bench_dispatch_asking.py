"""A client of our gateway that needs no socket, and what it sees of the process (`ci/bench dispatch`)."""

import gc
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import attrs
import trio
from hypercorn.typing import ASGIFramework, ASGIReceiveEvent, ASGISendEvent, ConnectionState, HTTPScope
from trio._core._run import GLOBAL_RUN_CONTEXT

from ci.lib.bench_dispatch_facts import CHUNKS, ITEMS, PATH, SILENT, TEXT, Asked, asked, bulk, small
from sie.web.asgi import LEAVING
from sie.web.routes import Leaving

Told: TypeAlias = Mapping[str, object]
MIX: Mapping[int, str] = {7: "leaves", 17: SILENT, 27: CHUNKS}
"""Of every `MIXED` requests these are not answered as they should be, or come in pieces."""
MIXED = 40
READY_S = 30.0
LOOKS = 8
LOOK_S = 0.13


@attrs.define(eq=False)
class Exchange:
    """One request from its client's side. One that `leaves` is gone as soon as its body is read.

    `leaving` is how a server of ours tells so (`sie.web.asgi`); without it the application waits for the disconnect.
    """

    asked: Asked
    leaves: bool = False
    leaving: Leaving | None = None
    status: int = 0
    size: int = 0
    _is_read: bool = False

    async def receive(self) -> ASGIReceiveEvent:
        if not self._is_read:
            self._is_read = True
            if self.leaves and self.leaving is not None:
                trio.lowlevel.current_trio_token().run_sync_soon(self.leaving.gone)
            return {"type": "http.request", "body": self.asked.body, "more_body": False}
        if not self.leaves:
            await trio.sleep_forever()
        return {"type": "http.disconnect"}

    async def send(self, event: ASGISendEvent) -> None:
        if event["type"] == "http.response.start":
            self.status = event["status"]
        elif event["type"] == "http.response.body":
            self.size += len(event["body"])

    async def run(self, app: ASGIFramework, scope: HTTPScope) -> None:
        told = {LEAVING: self.leaving}
        await app({**scope, "extensions": told}, self.receive, self.send)  # type: ignore[typeddict-item]  # ours


@attrs.frozen
class Driver:
    app: ASGIFramework

    async def answered(self) -> None:
        """Returns once a small request is."""
        with trio.fail_after(READY_S):
            while await self._status(small("msgpack")) != 200:  # noqa: ASYNC110 - nothing tells when a worker is heard
                await trio.sleep(0.1)

    async def ask(self, kind: str, count: int, width: int, *, tells: bool) -> Told:
        """`width` clients at a time, `count` requests in all. The CPU is the process's, our own little included.

        `tells`: as a server of ours that tells who leaves, or as any other.
        """
        statuses = Counter[str]()
        numbers = iter(range(count))
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        async with trio.open_nursery() as nursery:
            for _ in range(width):
                nursery.start_soon(self._client, kind, numbers, statuses, tells)
        cpu_s, wall_s = time.process_time() - began_cpu_s, time.monotonic() - began_s
        return {"cpu_s": cpu_s, "wall_s": wall_s, "statuses": dict(statuses)}

    async def _client(self, kind: str, numbers: Iterator[int], statuses: Counter[str], tells: bool) -> None:
        plain = small("msgpack" if kind == "mixed" else kind)
        scope = scope_of(plain)
        for number in numbers:
            odd = MIX.get(number % MIXED) if kind == "mixed" else None
            exchange = Exchange(plain) if odd is None else odd_one(odd)
            exchange.leaving = Leaving() if tells else None
            await exchange.run(self.app, scope if odd is None else scope_of(exchange.asked))
            statuses[str(exchange.status)] += 1

    async def bulk(self, kind: str) -> Told:
        """The peak is what the process grew by, of what it has in memory."""
        exchange = Exchange(bulk(kind))
        gc.collect()
        before = resident_bytes()
        forget_peak()
        began_s = time.monotonic()
        await exchange.run(self.app, scope_of(exchange.asked))
        took_s = time.monotonic() - began_s
        peak_bytes = peak_resident_bytes() - before
        return {"s": took_s, "status": exchange.status, "reply_bytes": exchange.size, "peak_bytes": peak_bytes}

    async def _status(self, question: Asked) -> int:
        exchange = Exchange(question)
        await exchange.run(self.app, scope_of(question))
        return exchange.status


def odd_one(kind: str) -> Exchange:
    if kind == "leaves":
        return Exchange(asked("msgpack", [TEXT] * ITEMS), leaves=True)
    return Exchange(asked("msgpack", [kind] * ITEMS))


def scope_of(question: Asked) -> HTTPScope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [
            (b"host", b"127.0.0.1:8080"),
            (b"accept", b"*/*"),
            (b"content-type", question.content_type.encode()),
            (b"content-length", str(len(question.body)).encode()),
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8080),
        "state": ConnectionState({}),
        "extensions": {},
    }


async def memory() -> Told:
    """The least of some looks, each after a full collection: a heartbeat that is being read is not what stays.

    `unfrozen` are the objects that came since the service began. Deadlines that are over are not counted: Trio keeps up
    to a thousand of them before it looks.
    """
    looks = []
    for _ in range(LOOKS):
        await trio.sleep(LOOK_S)
        GLOBAL_RUN_CONTEXT.runner.deadlines._prune()
        gc.collect()
        looks.append((len(gc.get_objects()), resident_bytes()))
    objects, resident = map(min, zip(*looks, strict=True))
    return {"objects": objects + gc.get_freeze_count(), "unfrozen": objects, "resident_bytes": resident}


def resident_bytes() -> int:
    return _status_bytes("VmRSS")


def peak_resident_bytes() -> int:
    return _status_bytes("VmHWM")


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _status_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
