"""The backend's conversation, over a pair of streams in one process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import pytest
import trio
import trio.testing

from sie.backend.__main__ import device_environment
from sie.backend.catalog import Catalog
from sie.backend.serve import serve
from sie.wire.ipc import (
    Answer,
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
from tests.backend.scripted_adapter import PATH

LOAD = LoadModel(id=1, serving_id="acme/small", adapter_path=PATH, model_id="acme/small")


class Worker:
    """The other side of the conversation."""

    def __init__(self, stream: trio.abc.Stream, ended: trio.Event) -> None:
        self.stream = stream
        self.ended = ended
        self._reader = FrameReader()
        self._heard: list[Request | Answer] = []

    async def say(self, request: Request) -> None:
        await self.stream.send_all(frame(request))

    async def hear(self) -> Request | Answer:
        with trio.fail_after(10):
            while not self._heard:
                self._heard += self._reader.receive(bytes(await self.stream.receive_some()))
        return self._heard.pop(0)

    async def hear_until(self, kind: type[Finished | Failed]) -> list[Request | Answer]:
        heard = [await self.hear()]
        while not isinstance(heard[-1], kind):
            heard.append(await self.hear())
        return heard


@asynccontextmanager
async def talking() -> AsyncIterator[Worker]:
    ours, theirs = trio.testing.memory_stream_pair()
    ended = trio.Event()
    async with trio.open_nursery() as nursery:
        backend = partial(serve, device="cpu", end=ended.set)
        nursery.start_soon(backend, theirs, Catalog("/cache", "tests.backend."))
        worker = Worker(ours, ended)
        hello = await worker.hear()
        assert isinstance(hello, Hello)
        yield worker
        await ours.aclose()
        with trio.fail_after(10):
            await ended.wait()


def batch(number: int, *texts: str) -> EncodeBatch:
    items = tuple(EncodeItem(item={"text": text}) for text in texts)
    return EncodeBatch(id=number, serving_id="acme/small", items=items)


async def test_a_load_tells_each_new_step_once_and_then_ends() -> None:
    async with talking() as worker:
        await worker.say(attrs.evolve(LOAD, loadtime={"bytes": 7}))
        *updates, end = await worker.hear_until(Finished)
        assert end == Finished(id=1, memory_bytes=7)
        assert [u.activity for u in updates if isinstance(u, ModelUpdate)] == [
            "loading",
            "downloading 40%",
            "compiling 3/8",
        ]


async def test_a_load_that_fails_says_why_and_whether_that_is_for_good() -> None:
    async with talking() as worker:
        await worker.say(LoadModel(id=1, serving_id="m", adapter_path="os:system", model_id="m"))
        *_, end = await worker.hear_until(Failed)
        assert isinstance(end, Failed)
        assert (end.id, end.error_code, end.permanent) == (1, "MODEL_LOAD_FAILED", True)
        assert end.error.startswith("CONFIG: adapter 'os:system'")
        assert (end.error_class, end.memory_bytes) == ("CONFIG", 0)


async def test_a_model_that_cannot_be_warmed_up_was_loaded_before_and_serves() -> None:
    async with talking() as worker:
        await worker.say(attrs.evolve(LOAD, loadtime={"cold": True}))
        await worker.hear_until(Finished)
        await worker.say(batch(2, "a"))
        assert isinstance(await worker.hear(), Finished)
        await worker.say(attrs.evolve(LOAD, id=3, serving_id="acme/next"))
        *_, end = await worker.hear_until(Finished)
        assert end == Finished(id=3)


async def test_a_model_that_is_unloaded_takes_no_batches_and_can_be_loaded_again() -> None:
    async with talking() as worker:
        await worker.say(LOAD)
        await worker.hear_until(Finished)
        await worker.say(UnloadModel(id=2, serving_id="acme/small"))
        assert await worker.hear() == Finished(id=2)
        await worker.say(batch(3, "a"))
        assert isinstance(await worker.hear(), Failed)
        await worker.say(attrs.evolve(LOAD, id=4))
        await worker.hear_until(Finished)
        await worker.say(batch(5, "a"))
        assert isinstance(await worker.hear(), Finished)


async def test_the_log_tells_each_load_with_what_it_takes_and_each_unload(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "sie.backend")
    async with talking() as worker:
        await worker.say(attrs.evolve(LOAD, loadtime={"bytes": 7}))
        await worker.hear_until(Finished)
        await worker.say(UnloadModel(id=2, serving_id="acme/small"))
        await worker.hear_until(Finished)
    told = [(record.getMessage(), vars(record)["model"], vars(record).get("bytes")) for record in caplog.records]
    assert told == [("a model is loaded", "acme/small", 7), ("a model is unloaded", "acme/small", None)]


async def test_a_model_without_room_is_refused_with_what_it_takes() -> None:
    async with talking() as worker:
        await worker.say(attrs.evolve(LOAD, loadtime={"bytes": 10}, room_bytes=9))
        *_, end = await worker.hear_until(Failed)
        assert isinstance(end, Failed)
        assert (end.error_class, end.memory_bytes, end.permanent) == ("OOM", 10, False)


async def test_batches_are_answered_in_order() -> None:
    async with talking() as worker:
        await worker.say(LOAD)
        await worker.hear_until(Finished)
        await worker.say(batch(2, "sleep 0.05"))
        await worker.say(batch(3, "a", "b"))
        first, second = await worker.hear(), await worker.hear()
        assert isinstance(first, Finished)
        assert isinstance(second, Finished)
        assert [(first.id, len(first.outcomes)), (second.id, len(second.outcomes))] == [(2, 1), (3, 2)]


async def test_a_batch_for_a_model_that_is_not_loaded_fails_as_one_that_may_pass() -> None:
    async with talking() as worker:
        await worker.say(batch(2, "a"))
        failed = await worker.hear()
        assert isinstance(failed, Failed)
        assert (failed.id, failed.error_code, failed.permanent) == (2, "MODEL_LOADING", False)


async def test_the_end_of_the_socket_is_heard_while_a_batch_runs() -> None:
    async with talking() as worker:
        await worker.say(LOAD)
        await worker.hear_until(Finished)
        await worker.say(batch(2, "sleep 0.5"))
        await trio.sleep(0.05)
        await worker.stream.aclose()
        with trio.fail_after(0.3):
            await worker.ended.wait()


@pytest.mark.parametrize(
    ("device", "environment"),
    [
        ("cpu", {"JAX_PLATFORMS": "cpu"}),
        ("cuda", {"JAX_PLATFORMS": "cuda,cpu"}),
        ("cuda:3", {"JAX_PLATFORMS": "cuda,cpu", "CUDA_VISIBLE_DEVICES": "3"}),
    ],
)
def test_jax_is_kept_to_the_device_that_was_asked_for(device: str, environment: dict[str, str]) -> None:
    assert device_environment(device) == environment
