"""`/ws/cluster-status`: one frame a second for every reader, and none kept for who does not read (§14)."""

import json

import trio
from trio.testing import MockClock

from tests.gateway.doubles import MODEL, open_gateway

PATH = "/ws/cluster-status"


async def test_a_frame_tells_the_moment_the_cluster_its_workers_and_models(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway, gateway.server.socket(PATH) as socket:
        await trio.sleep(0.5)
        frame = json.loads(socket.frames[0])
    assert set(frame["cluster"]) == {"worker_count", "gpu_count", "models_loaded", "total_qps"}
    assert frame["timestamp"] >= 1_000_000
    assert [row["name"] for row in frame["workers"]] == ["w1"]
    assert [row["name"] for row in frame["models"]] == [MODEL]
    assert frame["config_epoch"] == 3


async def test_there_is_one_frame_for_each_second_and_all_readers_share_it(autojump_clock: MockClock) -> None:
    async with (
        open_gateway() as gateway,
        gateway.server.socket(PATH) as first,
        gateway.server.socket(PATH) as second,
    ):
        await trio.sleep(10.5)
        seconds = [int(json.loads(frame)["timestamp"]) for frame in first.frames]
        assert seconds == list(range(seconds[0], seconds[0] + 11))
        assert all(ours is theirs for ours, theirs in zip(first.frames, second.frames, strict=True))


async def test_a_frame_shows_what_has_happened_since_the_last_one(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway, gateway.server.socket(PATH) as socket:
        await trio.sleep(0.5)
        gateway.beat(draining=True)
        await trio.sleep(1)
        told = [json.loads(frame)["cluster"]["worker_count"] for frame in socket.frames]
    assert told == [1, 0]


async def test_a_reader_that_does_not_read_is_dropped_and_the_others_go_on(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway, gateway.server.socket(PATH) as reader:
        async with gateway.server.socket(PATH, reads=False) as slow:
            with trio.fail_after(60):
                await slow.over.wait()
        before = len(reader.frames)
        await trio.sleep(3.5)
        assert len(reader.frames) >= before + 3


async def test_a_reader_that_leaves_costs_nothing_more(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        async with gateway.server.socket(PATH) as socket:
            await trio.sleep(1)
        frames = len(socket.frames)
        await trio.sleep(10)
        assert len(socket.frames) == frames


async def test_a_socket_on_a_path_without_one_is_404(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        async with gateway.server.socket("/ws/other") as socket:
            with trio.fail_after(10):
                await socket.over.wait()
        assert socket.status == 404
