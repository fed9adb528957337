"""The backend as a real process: killed, orphaned, interrupted, and always answered for."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import PIPE

import pytest
import trio

from sie.wire.ipc import Finished, Hello
from sie.worker.children import NoBackend, launch_process
from sie.worker.core.flights import Answer
from sie.worker.core.state import ChildEvent, Died
from tests.worker.real_child import LOAD, MODEL, ROOT, environment, is_alive, open_real_child, texts_of
from tests.worker.stage import until

pytestmark = [pytest.mark.system]

LIMIT_S = 30.0


@pytest.fixture(autouse=True)
async def limit() -> AsyncIterator[None]:
    with trio.fail_after(LIMIT_S):
        yield


def pids(events: list[ChildEvent]) -> list[int]:
    return [event.pid for event in events if isinstance(event, Hello)]


def socket_path(pid: int) -> Path:
    arguments = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    return Path(arguments[arguments.index("--socket") + 1])


async def test_a_batch_survives_the_kill_of_its_child_and_is_answered_once() -> None:
    events: list[ChildEvent] = []
    answers: list[Answer] = []
    async with open_real_child(events.append) as child:
        child.load_nowait(LOAD)
        await child.encode(MODEL, texts_of("warm"))
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                answers.append(await child.encode(MODEL, texts_of("sleep 1", "b")))

            nursery.start_soon(ask)
            await trio.sleep(0.3)
            os.kill(pids(events)[0], signal.SIGKILL)
        assert len(pids(events)) == 2
    (answer,) = answers
    assert isinstance(answer, Finished)
    assert [outcome.input_tokens for outcome in answer.outcomes] == [4, 3]
    assert sum(isinstance(event, Died) for event in events) == 1


async def test_an_input_that_kills_every_child_gets_an_error_and_the_next_one_works() -> None:
    async with open_real_child(lambda _: None) as child:
        child.load_nowait(LOAD)
        poisoned = await child.encode(MODEL, texts_of("die"))
        assert not isinstance(poisoned, Finished)
        assert poisoned.error_code == "inference_error"
        assert isinstance(await child.encode(MODEL, texts_of("a")), Finished)


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
