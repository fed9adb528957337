"""`sie up` as a process, over scripted services: what it prints, and how it and its children end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio

from ci.lib.environment import ROOT
from tests.cli.scripted import BOUND_S, alive, until

pytestmark = pytest.mark.system


@attrs.define
class Up:
    """The running program; what it prints goes to files, so that it is never held up by a reader."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text(encoding="utf-8")

    @property
    def pids(self) -> Mapping[str, int]:
        """Of its children, which only JSON tells."""
        found: Mapping[str, int] = json.loads(self.out)["pids"]
        return found

    async def code(self) -> int:
        await until(lambda: self.process.poll() is not None)
        assert self.process.returncode is not None
        return self.process.returncode

    def nothing_left(self) -> bool:
        """Not even one that has let go of its parent: children are known by the folder that they run in."""
        return not any(alive(pid) and runs_in(pid, self.folder) for pid in processes())


def processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def runs_in(pid: int, folder: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == folder
    except OSError:
        return False


def start(folder: Path, *words: str, **environ: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "tests.cli.scripted_up", str(folder), *words]
    env = {**os.environ, **environ}
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return subprocess.Popen(argv, cwd=ROOT, env=env, stdout=out, stderr=err, start_new_session=True)


@asynccontextmanager
async def up(folder: Path, *words: str, **environ: str) -> AsyncIterator[Up]:
    process = start(folder, *words, **environ)
    try:
        yield Up(process, folder)
    finally:
        process.kill()
        process.wait(BOUND_S)


async def test_lines_tell_what_each_process_does_until_the_command_to_paste(tmp_path: Path) -> None:
    async with up(tmp_path) as it:
        await until(lambda: "Ctrl-C stops everything." in it.out)
        lines = it.out.splitlines()
        assert {"nats: ready", "config: ready", "gateway: ready", "worker: ready"} <= set(lines)
        assert lines.index("worker: starting") < lines.index("worker: compiling 3/8") < lines.index("worker: ready")
        assert len(lines) == len(set(lines))
        assert any(line.startswith("ready in ") for line in lines)
        assert any("curl -s http://127.0.0.1:" in line and "/v1/encode/m" in line for line in lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_first_signal_stops_everything_in_order_and_exits_with_0(tmp_path: Path, number: int) -> None:
    async with up(tmp_path) as it:
        await until(lambda: "ready in" in it.out)
        it.process.send_signal(number)
        assert await it.code() == 0
        assert it.nothing_left()
        stopped = [line.partition(":")[0] for line in it.out.splitlines() if line.endswith(": stopped")]
        assert stopped == ["gateway", "worker", "config", "nats"]


async def test_json_is_one_object_on_stdout_and_nothing_else(tmp_path: Path) -> None:
    async with up(tmp_path, "json") as it:
        await until(lambda: it.out.endswith("\n"))
        told = json.loads(it.out)
        assert told["ready"] is True
        assert told["models"] == ["m"]
        assert told["gateway"].startswith("http://127.0.0.1:")
        assert told["config"].startswith("http://127.0.0.1:")
        assert told["nats"].startswith("nats://127.0.0.1:")
        assert told["seconds"] > 0
        assert told["logs"] == str(tmp_path)
        assert told["pid"] == it.process.pid
        assert all(map(alive, told["pids"].values()))
        it.process.terminate()
        assert await it.code() == 0
        assert len(it.out.splitlines()) == 1
        assert "worker: ready" in it.err.splitlines()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_second_signal_kills_everything_at_once(tmp_path: Path, number: int, code: int) -> None:
    async with up(tmp_path, DEAF="gateway") as it:
        await until(lambda: "ready in" in it.out)
        it.process.send_signal(number)
        await until(lambda: "gateway: stopping" in it.out)
        started = trio.current_time()
        it.process.send_signal(number)
        assert await it.code() == code
        assert trio.current_time() - started < 1
        await until(it.nothing_left)


async def test_a_supervisor_that_is_killed_takes_its_children_along(tmp_path: Path) -> None:
    async with up(tmp_path, DEAF="worker") as it:
        await until(lambda: "ready in" in it.out)
        it.process.kill()
        await until(it.nothing_left)


async def test_a_child_that_dies_later_is_replaced_and_becomes_ready_again(tmp_path: Path) -> None:
    async with up(tmp_path, "json") as it:
        await until(lambda: it.out)
        os.kill(it.pids["worker"], signal.SIGKILL)
        await until(lambda: it.err.count("worker: ready") == 2)
        assert "worker was ended by SIGKILL after" in it.err


async def test_a_child_that_cannot_start_ends_the_start_with_its_last_words(tmp_path: Path) -> None:
    async with up(tmp_path, "json", BROKEN="config") as it:
        assert await it.code() == 1
        assert it.out == ""
        assert "config exited with 1 after" in it.err
        assert it.err.rstrip().endswith("this cannot work")
        assert it.nothing_left()


async def test_verbose_shows_what_the_processes_write(tmp_path: Path) -> None:
    async with up(tmp_path, "verbose") as it:
        await until(lambda: "ready in" in it.out)
        it.process.terminate()
        assert await it.code() == 0
        assert "gateway | told to end" in it.out.splitlines()


async def test_a_signal_while_it_starts_stops_what_has_started(tmp_path: Path) -> None:
    async with up(tmp_path) as it:
        await until(lambda: "starting" in it.out)
        it.process.terminate()
        assert await it.code() == 0
        assert it.nothing_left()
