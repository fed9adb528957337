"""The backend as a real process: killed, orphaned, interrupted, and always answered for."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from subprocess import PIPE

import attrs
import pytest
import trio

from sie.backend.host_memory import host_memory_bytes
from sie.wire.ipc import Failed, Finished, Hello
from sie.worker.children import NoBackend, launch_process
from sie.worker.core.flights import Answer, Crashed, Left
from sie.worker.core.state import ChildEvent, Died, LoadEnded
from sie.worker.devices import open_children
from tests.worker.real_child import COMMAND, LOAD, MODEL, ROOT, environment, is_alive, open_real_child, texts_of
from tests.worker.stage import until

pytestmark = [pytest.mark.system]

LIMIT_S = 30.0


@pytest.fixture(autouse=True)
async def limit() -> AsyncIterator[None]:
    with trio.fail_after(LIMIT_S):
        yield


def pids(events: list[ChildEvent]) -> list[int]:
    return [event.pid for event in events if isinstance(event, Hello)]


def ends_of(events: list[ChildEvent]) -> list[Answer]:
    return [event.answer for event in events if isinstance(event, LoadEnded)]


def socket_path(pid: int) -> Path:
    arguments = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    return Path(arguments[arguments.index("--socket") + 1])


async def test_a_batch_whose_child_is_killed_lands_once_and_runs_in_the_next_one() -> None:
    events: list[ChildEvent] = []
    answers: list[Answer] = []
    async with open_real_child(events.append) as child:
        child.load_nowait(LOAD)
        await child.encode(MODEL, texts_of("warm"))
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                answers.append(await child.encode(MODEL, texts_of("sleep 1", "b")))
                answers.append(await child.encode(MODEL, texts_of("b"), alone=True))

            nursery.start_soon(ask)
            await trio.sleep(0.3)
            os.kill(pids(events)[0], signal.SIGKILL)
        assert len(pids(events)) == 2
    crashed, answer = answers
    assert isinstance(crashed, Crashed)
    assert isinstance(answer, Finished)
    assert [outcome.input_tokens for outcome in answer.outcomes] == [3]
    assert sum(isinstance(event, Died) for event in events) == 1


async def test_an_input_that_kills_its_child_crashes_and_the_next_one_works() -> None:
    async with open_real_child(lambda _: None) as child:
        child.load_nowait(LOAD)
        assert isinstance(await child.encode(MODEL, texts_of("die")), Crashed)
        assert isinstance(await child.encode(MODEL, texts_of("a")), Finished)


async def test_a_real_child_says_what_it_has_and_what_a_model_takes_and_unloads_it() -> None:
    events: list[ChildEvent] = []
    async with open_real_child(events.append) as child:
        child.load_nowait(attrs.evolve(LOAD, loadtime={"bytes": 1000}, room_bytes=999))
        await until(lambda: bool(ends_of(events)))
        child.load_nowait(attrs.evolve(LOAD, loadtime={"bytes": 1000}, room_bytes=1000))
        assert isinstance(await child.encode(MODEL, texts_of("a")), Finished)
        await child.unload(MODEL)
        assert isinstance(await child.encode(MODEL, texts_of("a")), Left)
        child.load_nowait(LOAD)
        assert isinstance(await child.encode(MODEL, texts_of("a")), Finished)
    refused, loaded, _ = ends_of(events)
    assert isinstance(refused, Failed)
    assert (refused.error_class, refused.memory_bytes) == ("OOM", 1000)
    assert isinstance(loaded, Finished)
    assert loaded.memory_bytes == 1000
    assert [event.memory_bytes for event in events if isinstance(event, Hello)] == [host_memory_bytes()]


async def test_several_devices_are_as_many_processes_and_each_model_is_with_its_own() -> None:
    events: list[ChildEvent] = []
    launches = [partial(launch_process, COMMAND)] * 2
    async with open_children(launches, events.append) as child:
        for device, name in enumerate(("acme/a", "acme/b")):
            child.load_nowait(attrs.evolve(LOAD, serving_id=name), device=device)
            assert isinstance(await child.encode(name, texts_of("a")), Finished)
        assert isinstance(await child.encode("acme/a", texts_of("die")), Crashed)
        assert isinstance(await child.encode("acme/b", texts_of("a")), Finished)
    assert len({*pids(events)}) >= 2
    assert [event.number for event in events if isinstance(event, Died)] == [0]


async def test_leaving_ends_a_child_that_computes_and_its_folder_is_gone_since_it_connected() -> None:
    events: list[ChildEvent] = []
    async with open_real_child(events.append) as child:
        child.load_nowait(LOAD)
        await child.encode(MODEL, texts_of("warm"))
        assert not socket_path(pids(events)[0]).parent.exists()
        with trio.move_on_after(0.2):
            await child.encode(MODEL, texts_of("sleep 60"))
        left_at = trio.current_time()
    assert trio.current_time() - left_at < 1.5
    assert not is_alive(pids(events)[0])


async def test_signals_of_a_terminal_do_not_end_a_child() -> None:
    events: list[ChildEvent] = []
    async with open_real_child(events.append) as child:
        child.load_nowait(LOAD)
        await child.encode(MODEL, texts_of("warm"))
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(pids(events)[0], number)
        assert isinstance(await child.encode(MODEL, texts_of("a")), Finished)
    assert len(pids(events)) == 1


async def test_a_child_ends_with_a_worker_that_is_killed_even_while_it_computes() -> None:
    command = [sys.executable, "-m", "tests.worker.orphan_maker"]
    worker = await trio.lowlevel.open_process(command, stdout=PIPE, cwd=ROOT, env=environment())
    assert worker.stdout is not None
    said = b""
    while b"loaded" not in said:
        said += await worker.stdout.receive_some()
    pid = int(said.split()[0])
    await trio.sleep(0.2)
    assert is_alive(pid)
    worker.kill()
    await worker.wait()
    await until(lambda: not is_alive(pid))


async def test_a_process_that_ends_before_it_connects_is_told_with_its_exit_code() -> None:
    with pytest.raises(NoBackend, match="exit code 3"):
        async with launch_process((sys.executable, "-c", "raise SystemExit(3)")):
            raise AssertionError("there is no connection")


async def test_a_program_that_does_not_exist_is_told() -> None:
    with pytest.raises(NoBackend, match="cannot be started"):
        async with launch_process(("/nowhere/python",)):
            raise AssertionError("there is no connection")
