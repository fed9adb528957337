"""What a system test does with a running system: ask it, kill a part of it, look for what is left of it."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs
import httpx2
import numpy as np
from numpy.typing import NDArray

from ci.lib.demo_system import System
from sie.cli.settings import DEFAULT_MODEL
from sie.wire.codec import pack, unpack
from sie.wire.ndarray import array_from_wire

ANSWER_WITHIN_S = 150.0
HEAL_WITHIN_S = 60.0
LONG_TEXT = "The quick brown fox jumps over the lazy dog while the five boxing wizards watch from afar. " * 10
MSGPACK = "application/msgpack"

Vectors = NDArray[np.float32]


@attrs.frozen
class Driver:
    """`lines` is where `sie up` tells what happens."""

    system: System
    lines: Path

    def post(self, path: str, body: object) -> httpx2.Response:
        return httpx2.post(f"{self.system.gateway}{path}", json=body, timeout=ANSWER_WITHIN_S)

    def get(self, path: str) -> Mapping[str, object]:
        reply: Mapping[str, object] = httpx2.get(f"{self.system.gateway}{path}", timeout=ANSWER_WITHIN_S).json()
        return reply

    def encode(self, texts: Sequence[str]) -> httpx2.Response:
        return self.post(f"/v1/encode/{DEFAULT_MODEL}", {"items": [{"text": text} for text in texts]})

    def encode_msgpack(self, texts: Sequence[str]) -> httpx2.Response:
        return self.post_msgpack(f"/v1/encode/{DEFAULT_MODEL}", pack({"items": [{"text": text} for text in texts]}))

    def post_msgpack(self, path: str, body: bytes) -> httpx2.Response:
        headers = {"Content-Type": MSGPACK}
        return httpx2.post(f"{self.system.gateway}{path}", content=body, headers=headers, timeout=ANSWER_WITHIN_S)

    @contextmanager
    def asking(self, texts: Sequence[str]) -> Iterator[Future[httpx2.Response]]:
        """A request that is on its way during the block, and answered when it ends."""
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self.encode, texts)
            until(lambda: self.in_flight() > 0)
            yield asked

    def in_flight(self) -> int:
        count = self.get("/health")["requests_in_flight"]
        assert isinstance(count, int)
        return count

    def said(self, line: str) -> int:
        """How often `sie up` has said it."""
        return self.lines.read_text(encoding="utf-8").splitlines().count(line)

    def pid(self, name: str) -> int:
        """Of the process now; the one that `sie up` told of may have been replaced."""
        return next(pid for pid in children_of(self.system.process.pid) if f"sie.{name}" in command_of(pid))

    def backend(self) -> int:
        return next(iter(children_of(self.pid("worker"))))

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)


def vectors_of(reply: httpx2.Response) -> Vectors:
    """`[texts, dims]` from a reply in JSON or msgpack."""
    assert reply.status_code == 200, reply.text
    if reply.headers["content-type"] == MSGPACK:
        document = unpack(reply.content)
        assert isinstance(document, dict)
        return np.stack([array_from_wire(item["dense"]["values"]) for item in document["items"]]).astype(np.float32)
    return np.array([item["dense"]["values"] for item in reply.json()["items"]], np.float32)


def until(condition: Callable[[], object], within_s: float = HEAL_WITHIN_S) -> None:
    """Wait for something that other processes do. A connection that is refused meanwhile counts as not yet."""
    deadline = time.monotonic() + within_s
    while not holds(condition):
        assert time.monotonic() < deadline, f"not within {within_s:g} s"
        time.sleep(0.05)


def holds(condition: Callable[[], object]) -> bool:
    try:
        return bool(condition())
    except httpx2.TransportError:
        return False


def processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def children_of(parent: int) -> list[int]:
    return [pid for pid in processes() if (stat := stat_of(pid)) and int(stat[1]) == parent and stat[0] != "Z"]


def stat_of(pid: int) -> list[str]:
    """The fields behind the command: state, parent, ...; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").replace("\0", " ")


def marked(mark: str) -> list[int]:
    """The processes that run and were given `mark` in their environment, by whichever way they were started."""
    return [pid for pid in processes() if mark in environment_of(pid) and stat_of(pid)[:1] not in ([], ["Z"])]


def environment_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
