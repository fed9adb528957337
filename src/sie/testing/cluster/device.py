"""A worker's device as a script: backend children behind the real frames, that are slow, fail and die when told to.

Loads and batches run beside each other, each in order, as in the real child.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

import attrs
import trio
import trio.testing

from sie.domain.errors import ErrorCode
from sie.testing.cluster.vectors import FATAL, outcome, text_of
from sie.testing.cluster.weather import CHILD_DIED, Spell, Weather
from sie.wire.ipc import (
    Answer,
    EncodeBatch,
    Failed,
    Finished,
    FrameReader,
    Hello,
    LoadModel,
    ModelUpdate,
    UnloadModel,
    frame,
)
from sie.worker.children import NoBackend

Change = LoadModel | UnloadModel
R = TypeVar("R", Change, EncodeBatch)
LoadFailure = Literal["temporary", "permanent"]
OnBatch = Callable[[str, tuple[str, ...]], None]
"""Told the serving id and the texts of each batch as it begins to run."""
OnLoad = Callable[[str, LoadFailure | None], None]


def _nobody(_: str) -> None:
    return


@attrs.define(eq=False)
class Device:
    """It outlives its children and its worker. `on_held` is told of each batch that comes to its child: how many that
    has then, and the texts of this one, `on_fault` of what a real device could not do. Models take `model_bytes` each.
    """

    on_batch: OnBatch
    on_load: OnLoad
    on_held: Callable[[int, tuple[str, ...]], None]
    weather: Weather
    model_bytes: int = 100
    memory_bytes: int = 0
    on_fault: Callable[[str], None] = _nobody
    load_s: float = 0.2
    batch_s: float = 0.01
    slowness_s: float = 0.0
    refused_launches: int = 0
    load_failures: deque[LoadFailure] = attrs.field(factory=deque)
    launched: int = 0
    _life: trio.CancelScope | None = None
    _slow: Spell = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._slow = self.weather.spell("ChildSlow")

    @property
    def is_up(self) -> bool:
        return self._life is not None

    def slow_down(self, by_s: float) -> None:
        """0 makes it as fast as it was."""
        self.slowness_s = by_s
        self._slow.begin() if by_s else self._slow.end()

    def heal(self) -> None:
        self.slow_down(0.0)
        self.refused_launches = 0
        self.load_failures.clear()

    def die(self) -> None:
        """The child that lives now ends at once, whatever it is doing."""
        if self._life is not None:
            self.weather.note(CHILD_DIED)
            self._life.cancel()

    @asynccontextmanager
    async def launch(self) -> AsyncIterator[trio.abc.Stream]:
        self.launched += 1
        await trio.sleep(self.load_s)
        if self.refused_launches:
            self.refused_launches -= 1
            self.weather.note(CHILD_DIED)
            raise NoBackend("the scripted backend does not start")
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._live, theirs)
            yield ours
            nursery.cancel_scope.cancel()

    async def _live(self, stream: trio.abc.Stream) -> None:
        try:
            with trio.CancelScope() as self._life:
                await _Child(self, stream).serve()
        finally:
            self._life = None
            await trio.aclose_forcefully(stream)


@attrs.define(eq=False)
class _Child:
    device: Device
    stream: trio.abc.Stream
    held_batches: int = 0
    loaded: set[str] = attrs.field(factory=set)
    _sending: trio.Lock = attrs.field(factory=trio.Lock)

    async def serve(self) -> None:
        """The lock spans one frame's way out."""
        await self._say(Hello(device="cpu", pid=self.device.launched, memory_bytes=self.device.memory_bytes))
        # Unbounded in effect: a worker has two batches and one load here at a time.
        changes_in, changes = trio.open_memory_channel[Change](64)
        batches_in, batches = trio.open_memory_channel[EncodeBatch](64)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_each, changes, self._change)
            nursery.start_soon(_each, batches, self._run)
            reader = FrameReader()
            while data := await self.stream.receive_some():
                for message in reader.receive(bytes(data)):
                    if isinstance(message, LoadModel | UnloadModel):
                        changes_in.send_nowait(message)
                    elif isinstance(message, EncodeBatch):
                        self.held_batches += 1
                        self.device.on_held(self.held_batches, tuple(map(text_of, message.items)))
                        batches_in.send_nowait(message)
            nursery.cancel_scope.cancel()

    async def _change(self, request: Change) -> None:
        if isinstance(request, LoadModel):
            await self._load(request)
        else:
            self.loaded.discard(request.serving_id)
            await self._say(Finished(id=request.id))

    async def _load(self, request: LoadModel) -> None:
        await self._say(ModelUpdate(serving_id=request.serving_id, state="loading", activity="loading"))
        await trio.sleep(self.device.load_s)
        size = self.device.model_bytes
        if request.room_bytes is not None and size > request.room_bytes:
            failed = Failed(id=request.id, error_code=ErrorCode.MODEL_LOAD_FAILED, error="no room", permanent=False)
            await self._say(attrs.evolve(failed, error_class="OOM", memory_bytes=size))
            return
        failure = self.device.load_failures.popleft() if self.device.load_failures else None
        self.device.on_load(request.serving_id, failure)
        if failure is None:
            self.loaded.add(request.serving_id)
            if self.device.memory_bytes and size * len(self.loaded) > self.device.memory_bytes:
                self.device.on_fault(f"loads {len(self.loaded)} models of {size} bytes")
            await self._say(Finished(id=request.id, memory_bytes=size))
            return
        permanent = failure == "permanent"
        code = ErrorCode.MODEL_LOAD_FAILED if permanent else ErrorCode.MODEL_LOADING
        failed = Failed(id=request.id, error_code=code, error="scripted to fail", permanent=permanent)
        await self._say(attrs.evolve(failed, error_class="CONFIG" if permanent else "ENGINE"))

    async def _run(self, batch: EncodeBatch) -> None:
        texts = tuple(map(text_of, batch.items))
        self.device.on_batch(batch.serving_id, texts)
        if batch.serving_id not in self.loaded:
            self.device.on_fault(f"runs {batch.serving_id}, which is not loaded")
        await trio.sleep(self.device.batch_s + self.device.slowness_s)
        if any(text.startswith(FATAL) for text in texts):
            self.device.die()
        outcomes = tuple(outcome(batch.serving_id, item) for item in batch.items)
        self.held_batches -= 1
        await self._say(Finished(id=batch.id, outcomes=outcomes, inference_ms=1.0))

    async def _say(self, answer: Answer) -> None:
        async with self._sending:
            await self.stream.send_all(frame(answer))


async def _each(requests: trio.MemoryReceiveChannel[R], do: Callable[[R], Awaitable[None]]) -> None:
    async for request in requests:
        await do(request)
