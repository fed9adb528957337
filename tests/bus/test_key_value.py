"""A bucket of ours is a bucket of NATS's: nats-py reads what we write, and we hear what it writes (a real server)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import nats
import pytest
import trio
from nats.js import JetStreamContext
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue as TheirKeyValue

from sie.bus.api import NoResponders
from sie.bus.jetstream import ApiError, call_api
from sie.bus.jetstream_api import answer_config
from sie.bus.key_value import KeyValue, WrongRevision
from sie.bus.key_value_api import BucketState, Entry
from sie.bus.nats import open_bus
from sie.testing.nats_server import NatsServer
from tests.bus.waiting import CEILING_S, until

T = TypeVar("T")
BUCKET = "pools"


@asynccontextmanager
async def open_bucket(server: NatsServer, *, made: bool = True) -> AsyncIterator[KeyValue]:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.kv1", name="test") as bus:
            await bus.wait_session()
            kv = KeyValue(bus, BUCKET)
            if made:
                await kv.ensure()
            yield kv


async def by_nats_py(server: NatsServer, work: Callable[[JetStreamContext], Awaitable[T]]) -> T:
    """On asyncio, in a thread of its own."""

    async def connected() -> T:
        client = await nats.connect(server.url)
        try:
            return await work(client.jetstream())
        finally:
            await client.close()

    return await trio.to_thread.run_sync(lambda: asyncio.run(connected()))


async def theirs(js: JetStreamContext) -> TheirKeyValue:
    return await js.key_value(BUCKET)


async def test_nats_py_reads_what_we_wrote(server: NatsServer) -> None:
    async def read(js: JetStreamContext) -> tuple[list[str], bytes | None, int | None, int]:
        kv = await theirs(js)
        entry = await kv.get("a-_b")
        with pytest.raises(KeyNotFoundError):
            await kv.get("gone")
        return await kv.keys(), entry.value, entry.revision, await kv.create("gone", b"again")

    async with open_bucket(server) as kv:
        revision = await kv.put("a-_b", b"one", over=0)
        revision = await kv.put("a-_b", b"two", over=revision)
        await kv.delete("gone", over=await kv.put("gone", b"x", over=0))
        assert await by_nats_py(server, read) == (["a-_b"], b"two", revision, revision + 3)
        assert await kv.get("gone") == Entry("gone", revision + 3, b"again")


async def test_we_hear_what_nats_py_writes_before_and_while_we_listen(server: NatsServer) -> None:
    async def make(js: JetStreamContext) -> None:
        kv = await js.create_key_value(bucket=BUCKET, history=5)
        await kv.put("a", b"one")
        await kv.put("a", b"two")
        await kv.put("deleted", b"x")
        await kv.delete("deleted")
        await kv.put("purged", b"x")
        await kv.purge("purged")

    async def change(js: JetStreamContext) -> None:
        kv = await theirs(js)
        await kv.put("b", b"")
        await kv.delete("a")

    async with open_bucket(server, made=False) as kv:
        await by_nats_py(server, make)
        heard = list[Entry]()
        async with kv.watching(heard.append) as watch:
            await watch.listed.wait()
            there = [Entry("a", 2, b"two"), Entry("deleted", 4, None), Entry("purged", 6, None)]
            assert heard == there
            assert [await kv.get(entry.key) for entry in there] == there
            await by_nats_py(server, change)
            await until(lambda: len(heard) == 5)
            assert heard[3:] == [Entry("b", 7, b""), Entry("a", 8, None)]
        state = await kv.look()
        assert state is not None
        assert not state.markers_fade, "with a history, what was deleted would come back"


async def test_a_new_bucket_has_the_settings_that_nats_py_would_give_it(server: NatsServer) -> None:
    async def make(js: JetStreamContext) -> None:
        await js.create_key_value(bucket="another", storage="file", direct=True)

    async with open_bucket(server) as kv:
        await by_nats_py(server, make)
        ours, other = [
            dict(answer_config(await call_api(kv.bus, f"STREAM.INFO.KV_{name}"))) for name in (BUCKET, "another")
        ]
        for config in (ours, other):
            del config["name"], config["subjects"]
        assert ours == other
        ensured = await kv.ensure()
        assert (ensured.action, ensured.mismatches) == ("unchanged", ())


async def test_a_write_replaces_the_revision_that_it_names_or_nothing(server: NatsServer) -> None:
    async with open_bucket(server) as kv:
        revision = await kv.put("a", b"one", over=0)
        for over in (0, revision + 1):
            with pytest.raises(WrongRevision):
                await kv.put("a", b"two", over=over)
            with pytest.raises(WrongRevision):
                await kv.delete("a", over=over)
        with pytest.raises(WrongRevision):
            await kv.put("b", b"two", over=revision)
        assert await kv.get("a") == Entry("a", revision, b"one")
        marker = await kv.delete("a", over=revision)
        assert await kv.get("a") == Entry("a", marker, None)
        assert await kv.put("a", b"three", over=marker) == marker + 1


async def test_a_marker_that_fades_leaves_nothing(server: NatsServer) -> None:
    async with open_bucket(server) as kv:
        await kv.delete("a", over=await kv.put("a", b"one", over=0), fades_s=1)
        while await kv.get("a") is not None:  # noqa: ASYNC110 - the server tells nobody
            await trio.sleep(0.05)
        state = await kv.look()
        assert state is not None
        assert (state.last_revision, state.markers_fade) == (2, True)
        assert await kv.put("a", b"two", over=0) == 3


async def test_of_an_empty_bucket_all_is_heard_at_once_and_of_none_nothing(server: NatsServer) -> None:
    async with open_bucket(server, made=False) as kv:
        assert await kv.look() is None
        with pytest.raises(ApiError):
            await kv.get("a")
        with pytest.raises(NoResponders):
            await kv.put("a", b"", over=0)
        with pytest.raises(ApiError):
            async with kv.watching(list[Entry]().append):
                pass
        await kv.ensure()
        async with kv.watching(list[Entry]().append) as watch:
            await watch.listed.wait()
        found = await kv.look()
        assert found == BucketState(found.created if found else "", 0, markers_fade=True)
