"""Inputs that fit no message go beside it, and are gone when their request is over, however it ends (§16.2)."""

from pathlib import Path

import attrs
import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sie.bus.api import Message
from sie.gateway.core.offload import ORPHAN_AGE_S
from sie.gateway.dispatch import payloads
from sie.gateway.settings import GatewaySettings
from sie.wire.codec import unpack
from sie.wire.work import decode_work
from tests.gateway.doubles import MODEL, ScriptedBus, answer_at_once, open_gateway, store

LONG = "a" * (1024 * 1024)


def make_file(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "payloads"


@pytest.fixture
def settings(folder: Path) -> GatewaySettings:
    return GatewaySettings(config_service_url="http://config", request_timeout_s=30.0, payload_store_url=str(folder))


async def test_a_long_input_lies_in_the_store_until_its_answer(
    settings: GatewaySettings, folder: Path, autojump_clock: MockClock
) -> None:
    seen = list[object]()

    def look(bus: ScriptedBus, message: Message) -> None:
        item = decode_work(message.data)
        if item.payload_ref is not None:
            seen.append(unpack((folder / item.payload_ref).read_bytes()))
        answer_at_once(bus, message)

    async with open_gateway(settings=settings, on_work=look) as gateway:
        reply = await gateway.encode("short", LONG)
        assert reply.status_code == 200
        short, long = gateway.bus.work
        assert (short.item, short.payload_ref) == ({"text": "short"}, None)
        assert long.item is None
        await trio.testing.wait_all_tasks_blocked()
        assert seen == [{"text": LONG}]
        assert left(folder) == []


async def test_a_score_goes_aside_whole(settings: GatewaySettings, folder: Path, autojump_clock: MockClock) -> None:
    seen = list[object]()

    def look(bus: ScriptedBus, message: Message) -> None:
        item = decode_work(message.data)
        assert (item.query_item, item.score_items) == (None, None)
        seen.append(unpack((folder / str(item.query_payload_ref)).read_bytes()))
        answer_at_once(bus, message)

    body = {"query": {"text": "q"}, "items": [{"text": LONG}]}
    async with open_gateway(settings=settings, on_work=look) as gateway:
        assert (await gateway.client.post(f"/v1/score/{MODEL}", json=body)).status_code == 200
    assert seen == [{"query": {"text": "q"}, "items": [{"text": LONG}]}]


@pytest.mark.parametrize("ending", ["timeout", "leaves", "refused"])
async def test_nothing_stays_however_it_ends(
    ending: str, settings: GatewaySettings, folder: Path, autojump_clock: MockClock
) -> None:
    def refuse(bus: ScriptedBus, message: Message) -> None:
        bus.answer(message, {"error": {"code": 503, "err_code": 10077, "description": "full"}})

    async with open_gateway(settings=settings, on_work=refuse if ending == "refused" else store) as gateway:
        with trio.move_on_after(5 if ending == "leaves" else 60):
            await gateway.encode(LONG)
        assert gateway.bus.work[0].payload_ref is not None
        await trio.testing.wait_all_tasks_blocked()
        assert left(folder) == []


async def test_where_the_store_takes_nothing_the_request_is_503_and_nothing_is_published(
    settings: GatewaySettings, folder: Path, autojump_clock: MockClock
) -> None:
    make_file(folder)
    async with open_gateway(settings=settings, on_work=answer_at_once) as gateway:
        reply = await gateway.encode("short", LONG)
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "QUEUE_UNAVAILABLE")
        assert not gateway.bus.work


async def test_without_a_store_a_long_input_is_413_with_the_limit_and_its_size(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        reply = await gateway.encode("short", LONG)
        assert not gateway.bus.work
    assert reply.status_code == 413
    assert "item 1 takes 1049" in reply.json()["detail"]["message"]
    assert "at most 1048" in reply.json()["detail"]["message"]


async def test_orphans_are_swept_by_age(
    settings: GatewaySettings, folder: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    for name in ("gw-dead.r_0.bin", "notes.txt"):
        make_file(folder / name)
    monkeypatch.setattr(payloads, "orphans_before_s", lambda *, now_unix_s: now_unix_s - ORPHAN_AGE_S + 10**10)
    async with open_gateway(settings=settings):
        await trio.testing.wait_all_tasks_blocked()
    assert left(folder) == ["notes.txt"]


async def test_more_discards_than_wait_are_left_to_the_sweep(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setattr(payloads, "MAX_DISCARDS", 0)
    async with open_gateway(settings=attrs.evolve(settings), on_work=answer_at_once) as gateway:
        assert (await gateway.encode(LONG)).status_code == 200
