"""The backend's conversation with its worker: requests in, one answer for each, and word of what loads are doing.

Batches run one at a time and in order, loads likewise, in two threads beside the loop that reads and writes. The end of
the socket is the end of the service: whoever runs it ends the process then.
"""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import attrs
import trio

from sie.adapters.api import LoadFailed, NoRoom
from sie.backend.catalog import Catalog
from sie.backend.executor import run_batch
from sie.domain.errors import ErrorCode
from sie.wire.converters import WireError
from sie.wire.ipc import (
    READ_BYTES,
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

log = logging.getLogger(__name__)

WAITING_REQUESTS = 64
"""More than a worker has with its backend at any time, so that reading, and so hearing the end, never waits."""
WAITING_ANSWERS = 64
"""A worker that does not read for so long makes the device wait, not the memory grow."""

Change = LoadModel | UnloadModel
"""Of what is loaded here."""


@attrs.frozen
class Lines:
    """Where answers go in."""

    answers: trio.MemorySendChannel[Answer]
    catalog: Catalog

    async def change_all(self, requests: trio.MemoryReceiveChannel[Change]) -> None:
        limiter = trio.CapacityLimiter(1)
        async for request in requests:
            answer = await trio.to_thread.run_sync(partial(self._change, request), limiter=limiter)
            await self.answers.send(answer)
            if isinstance(request, LoadModel):
                await trio.to_thread.run_sync(partial(self._warm_up, request.serving_id), limiter=limiter)

    async def run_all(self, batches: trio.MemoryReceiveChannel[EncodeBatch]) -> None:
        limiter = trio.CapacityLimiter(1)
        async for batch in batches:
            answer = await trio.to_thread.run_sync(partial(self._run, batch), limiter=limiter)
            await self.answers.send(answer)

    def _change(self, request: Change) -> Finished | Failed:
        """In a thread."""
        match request:
            case LoadModel():
                return self._load(request)
            case UnloadModel():
                self.catalog.unload(request.serving_id)
                log.info("a model is unloaded", extra={"model": request.serving_id})
                return Finished(id=request.id)

    def _load(self, request: LoadModel) -> Finished | Failed:
        try:
            footprint = self.catalog.load(request, self._reporter(request.serving_id))
        except NoRoom as error:
            log.info("a model does not fit yet", extra={"model": request.serving_id, "bytes": error.model_bytes})
            return attrs.evolve(_failed(request, error), memory_bytes=error.model_bytes)
        except LoadFailed as error:
            log.error("a model cannot be loaded", extra={"model": request.serving_id, "error": str(error)})
            return _failed(request, error)
        log.info("a model is loaded", extra={"model": request.serving_id, "bytes": footprint.model_bytes})
        return Finished(id=request.id, memory_bytes=footprint.model_bytes, device_bytes=footprint.device_bytes)

    def _warm_up(self, serving_id: str) -> None:
        """In a thread. What fails here would fail the first request, which then says so."""
        try:
            self.catalog.warm_up(serving_id)
        except Exception:  # whatever an adapter raises: the model is loaded, and serves
            log.exception("a model could not be warmed up", extra={"model": serving_id})

    def _reporter(self, serving_id: str) -> Callable[[str], None]:
        last = ""

        def report(activity: str) -> None:
            nonlocal last
            if activity != last:
                last = activity
                update = ModelUpdate(serving_id=serving_id, state="loading", activity=activity)
                trio.from_thread.run(self.answers.send, update)

        return report

    def _run(self, batch: EncodeBatch) -> Finished | Failed:
        """In a thread."""
        encoder = self.catalog.find(batch.serving_id)
        if encoder is None:
            words = f"{batch.serving_id} is not loaded"
            return Failed(id=batch.id, error_code=ErrorCode.MODEL_LOADING, error=words, permanent=False)
        return run_batch(encoder, batch)


def _failed(request: LoadModel, error: LoadFailed) -> Failed:
    return Failed(
        id=request.id,
        error_code=ErrorCode.MODEL_LOAD_FAILED,
        error=f"{error.error_class}: {error}",
        permanent=error.permanent,
        error_class=error.error_class,
    )


async def serve(
    stream: trio.abc.Stream, catalog: Catalog, *, device: str, end: Callable[[], None], memory_bytes: int = 0
) -> None:
    """Until the other side is gone; `end` is called at once then, even while a thread computes.

    Raises WireError on a peer that speaks something else.
    """
    answers, to_send = trio.open_memory_channel[Answer](WAITING_ANSWERS)
    batches, to_run = trio.open_memory_channel[EncodeBatch](WAITING_REQUESTS)
    changes, to_change = trio.open_memory_channel[Change](WAITING_REQUESTS)
    lines = Lines(answers, catalog)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_write_all, stream, to_send)
        nursery.start_soon(lines.change_all, to_change)
        nursery.start_soon(lines.run_all, to_run)
        await answers.send(Hello(device=device, pid=os.getpid(), memory_bytes=memory_bytes))
        await _read_all(stream, changes, batches)
        end()
        nursery.cancel_scope.cancel()


async def _read_all(
    stream: trio.abc.Stream, changes: trio.MemorySendChannel[Change], batches: trio.MemorySendChannel[EncodeBatch]
) -> None:
    reader = FrameReader()
    with suppress(trio.BrokenResourceError):  # the other side is gone, less politely
        while data := await stream.receive_some(READ_BYTES):
            for message in reader.receive(bytes(data)):
                match message:
                    case LoadModel() | UnloadModel():
                        await changes.send(message)
                    case EncodeBatch():
                        await batches.send(message)
                    case _:
                        raise WireError.at("kind", message=f"{type(message).__name__} is not for the backend")


async def _write_all(stream: trio.abc.Stream, answers: trio.MemoryReceiveChannel[Answer]) -> None:
    with suppress(trio.BrokenResourceError):  # the reader hears of it too, and ends the service
        async for answer in answers:
            await stream.send_all(frame(answer))
