"""A backend child: a process behind a Unix socket, kept alive, with every request answered exactly once.

When it dies it is replaced and its models are loaded again; what becomes of all it owed is for `core.flights`. A child
ends with its socket, so a worker that is killed leaves none behind.
"""

import logging
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import partial
from typing import NoReturn, Protocol

import attrs
import trio

from sie.domain.errors import ErrorCode
from sie.runtime.retrying import Backoff
from sie.runtime.service import running
from sie.wire.converters import WireError
from sie.wire.ipc import (
    READ_BYTES,
    EncodeBatch,
    EncodeItem,
    Failed,
    Finished,
    FrameReader,
    Hello,
    LoadModel,
    ModelUpdate,
    Request,
    UnloadModel,
    frame,
)
from sie.worker.core.flights import Answer, Flights, Landing, left
from sie.worker.core.state import ChildEvent, Died, LoadEnded, Unloaded

log = logging.getLogger(__name__)

CONNECT_LIMIT_S = 60.0
"""From the spawn to the child's first words; half a second on an idle machine."""
END_LIMIT_S = 2.0
KILL_LIMIT_S = 5.0
WATCH_S = 5.0
RESTART = Backoff(initial_s=0.1, cap_s=10.0)
STEADY_S = 60.0
"""A child that lived this long was well: the next one is started without delay."""

Report = Callable[[ChildEvent], None]
Launch = Callable[[], AbstractAsyncContextManager[trio.abc.Stream]]


class Child(Protocol):
    """A load ends in a LoadEnded event, an unload in Unloaded; a batch for a model that is neither loaded nor coming is
    Left. `device` is which of a worker's devices, counted from 0.
    """

    def load_nowait(self, request: LoadModel, *, device: int = 0) -> None: ...

    def unload_nowait(self, serving_id: str) -> None: ...

    async def unload(self, serving_id: str) -> None:
        """Until the model is gone."""
        ...

    async def encode(self, serving_id: str, items: tuple[EncodeItem, ...], *, alone: bool = False) -> Answer:
        """`alone`: with nothing else beside it, so that it is known what a child died of."""
        ...


OpenChild = Callable[[Report], AbstractAsyncContextManager[Child]]


class NoBackend(Exception):
    """A child process did not come up; another one is tried later."""


@asynccontextmanager
async def open_child(launch: Launch, report: Report, *, number: int = 0, is_only: bool = True) -> AsyncIterator[Child]:
    """Keep a child for as long as the block. Entering does not wait for it; `report` must not block.

    One that is not the only one gives its work away while it does not come up.
    """
    child = _Child(report, number, is_only=is_only)
    async with running(partial(child.keep_forever, launch)):
        yield child


@attrs.define(eq=False)
class _Waiter:
    done: trio.Event = attrs.field(factory=trio.Event)
    answer: Answer | None = None


class _Child:
    def __init__(self, report: Report, number: int, *, is_only: bool) -> None:
        self._report = report
        self._number = number
        self._is_only = is_only
        self._flights = Flights()
        self._waiters: dict[int, _Waiter] = {}
        self._wake = trio.Event()
        self._greeted = False

    def load_nowait(self, request: LoadModel, *, device: int = 0) -> None:
        assert device == self._number
        self._add(request)

    def unload_nowait(self, serving_id: str) -> None:
        self._add(UnloadModel(id=0, serving_id=serving_id))

    async def unload(self, serving_id: str) -> None:
        await self._answer_to(self._add(UnloadModel(id=0, serving_id=serving_id)))

    async def encode(self, serving_id: str, items: tuple[EncodeItem, ...], *, alone: bool = False) -> Answer:
        if not self._flights.knows(serving_id):
            return left(0)
        return await self._answer_to(self._add(EncodeBatch(id=0, serving_id=serving_id, items=items), alone=alone))

    async def _answer_to(self, number: int) -> Answer:
        waiter = self._waiters[number] = _Waiter()
        await waiter.done.wait()
        return waiter.answer or Failed(id=0, error_code=ErrorCode.INTERNAL_ERROR, error="the backend gave no answer")

    def _add(self, request: Request, *, alone: bool = False) -> int:
        number = self._flights.add(request, alone=alone)
        self._wake.set()
        return number

    async def keep_forever(self, launch: Launch) -> NoReturn:
        delays = RESTART.delays()
        while True:
            began = trio.current_time()
            reason = await self._run_one(launch)
            log.error("the backend child ended", extra={"reason": reason, "in_flight": len(self._flights)})
            self._report(Died(reason, self._number))
            self._land(self._flights.die())
            if not (self._greeted or self._is_only):
                self._land(self._flights.abandon())
            self._greeted = False
            if trio.current_time() - began > STEADY_S:
                delays = RESTART.delays()
            await trio.sleep(next(delays))

    async def _run_one(self, launch: Launch) -> str:
        """From a child's start to its end; returns why it ended."""
        try:
            async with launch() as stream:
                with trio.CancelScope() as life:
                    async with running(partial(self._write_forever, stream), partial(self._watch_forever, life)):
                        return await self._read_until_lost(stream)
                return "it owed an answer for too long"
        except NoBackend as error:
            return str(error)

    async def _read_until_lost(self, stream: trio.abc.Stream) -> str:
        reader = FrameReader()
        try:
            while data := await stream.receive_some(READ_BYTES):
                for message in reader.receive(bytes(data)):
                    self._receive(message)
        except (trio.BrokenResourceError, WireError) as error:
            return str(error) or type(error).__name__
        return "it closed its socket"

    def _receive(self, message: object) -> None:
        match message:
            case Hello():
                self._greeted = True
                log.info("the backend child is up", extra={"child_pid": message.pid, "device": message.device})
                self._report(attrs.evolve(message, number=self._number))
            case ModelUpdate():
                self._report(message)
            case Finished() | Failed():
                self._land(self._flights.land(message))
            case _:
                raise WireError.at("kind", message=f"{type(message).__name__} is not for the parent")

    def _land(self, landings: Iterable[Landing]) -> None:
        for landing in landings:
            match landing.request:
                case LoadModel(serving_id=serving_id):
                    self._report(LoadEnded(serving_id, landing.answer))
                case UnloadModel(serving_id=serving_id):
                    self._report(Unloaded(serving_id))
                case EncodeBatch():
                    pass
            if waiter := self._waiters.pop(landing.request.id, None):
                waiter.answer = landing.answer
                waiter.done.set()
        self._wake.set()

    async def _write_forever(self, stream: trio.abc.Stream) -> NoReturn:
        while True:
            request = self._flights.next_to_send(trio.current_time())
            if request is None:
                await self._wake.wait()
                self._wake = trio.Event()
                continue
            try:
                await stream.send_all(frame(request))
            except trio.BrokenResourceError:
                await trio.sleep_forever()  # the reader sees the same end, and says why

    async def _watch_forever(self, life: trio.CancelScope) -> NoReturn:
        began = trio.current_time()
        while True:
            await trio.sleep(WATCH_S)
            now = trio.current_time()
            if self._flights.is_overdue(now) or (not self._greeted and now - began > CONNECT_LIMIT_S):
                life.cancel()


@asynccontextmanager
async def launch_process(command: Sequence[str]) -> AsyncIterator[trio.abc.Stream]:
    """Start `command --socket PATH` and yield the connection that it makes. Raises NoBackend.

    The folder of the socket is ours alone, and gone as soon as the child is connected.
    """
    with ExitStack() as until_connected:
        folder = until_connected.enter_context(tempfile.TemporaryDirectory(prefix="sie-worker-"))
        listener = until_connected.enter_context(trio.socket.socket(trio.socket.AF_UNIX))
        path = os.path.join(folder, "backend.sock")
        await listener.bind(path)
        listener.listen(1)
        async with _process([*command, "--socket", path]) as process:
            stream = await _accept(listener, process)
            until_connected.close()
            async with stream:
                yield stream


@asynccontextmanager
async def _process(command: Sequence[str]) -> AsyncIterator[trio.Process]:
    """A child ends by itself once its socket is closed; one that is stuck is killed."""
    try:
        process = await trio.lowlevel.open_process(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise NoBackend(f"the backend process cannot be started: {error}") from error
    try:
        yield process
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + END_LIMIT_S):
            await process.wait()
        if process.poll() is None:
            process.kill()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + KILL_LIMIT_S):
                await process.wait()


async def _accept(listener: trio.socket.SocketType, process: trio.Process) -> trio.SocketStream:
    """The child's connection. Raises NoBackend when it ends first, or is too slow."""
    accepted: list[trio.socket.SocketType] = []
    with trio.move_on_after(CONNECT_LIMIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_at_end, process, nursery.cancel_scope)
            accepted.append((await listener.accept())[0])
            nursery.cancel_scope.cancel()
    if not accepted:
        raise NoBackend(f"the backend process did not connect (exit code {process.poll()})")
    return trio.SocketStream(accepted[0])


async def _cancel_at_end(process: trio.Process, scope: trio.CancelScope) -> None:
    await process.wait()
    scope.cancel()
