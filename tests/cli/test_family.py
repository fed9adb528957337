"""The supervisor against scripted children: what it restarts, in what order it stops, and that nothing is left."""

import os
import signal
from pathlib import Path

import pytest
import trio

from sie.cli.child import start_child
from sie.cli.family import living
from sie.cli.keeper import poll_for_end, wait_for_end
from sie.cli.plan import Service
from tests.cli.scripted import BAD, PARENT, PARENT_THAT_DIES, SLEEP, STUBBORN, TELLS, alive, scene, service, until

pytestmark = pytest.mark.system


async def test_a_child_that_dies_is_started_again_and_that_is_said(tmp_path: Path) -> None:
    it = scene(tmp_path, service("a", SLEEP))
    async with living(it.family):
        await until(lambda: it.family.pids)
        first = it.family.pids["a"]
        os.kill(first, signal.SIGKILL)
        await until(lambda: it.family.lives["a"] == 2)
        assert it.family.pids["a"] != first
    assert it.said("was ended by SIGKILL")
    assert it.said("starting it again in 0.25 s")


async def test_each_life_is_told_its_number(tmp_path: Path) -> None:
    script = f"import os; print(os.environ['LIFE'], flush=True); {SLEEP}"
    bare = service("a", script)
    it = scene(tmp_path, Service(bare.name, bare.argv, bare.environ, bare.grace_s, "LIFE"))
    async with living(it.family):
        await until(lambda: it.log("a") == "a-1\n")
        it.family.kill()
        await until(lambda: it.log("a") == "a-1\na-2\n")


async def test_a_child_that_dies_at_once_five_times_ends_the_start(tmp_path: Path) -> None:
    it = scene(tmp_path, service("steady", SLEEP), service("bad", BAD))
    async with living(it.family):
        with trio.fail_after(20):
            await it.stop.wait()
    assert it.family.lives["bad"] == 5
    assert it.family.failure is not None
    assert "bad exited with 3" in it.family.failure.reason
    assert it.family.failure.log == tmp_path / "bad.log"
    assert not alive(it.family.pids["steady"])


async def test_children_are_stopped_one_by_one_from_the_last_to_the_first(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    names = ("nats", "config", "worker", "gateway")
    scripts = [service(name, TELLS.format(journal=str(journal), name=name)) for name in names]
    it = scene(tmp_path, *scripts)
    async with living(it.family):
        await until(lambda: all("listening" in it.log(name) for name in names))
    assert journal.read_text(encoding="utf-8").split() == ["gateway", "worker", "config", "nats"]
    assert not any(map(alive, it.family.pids.values()))


async def test_a_child_deaf_to_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    it = scene(tmp_path, service("deaf", STUBBORN, grace_s=0.3))
    async with living(it.family):
        await until(lambda: "deaf" in it.log("deaf"))
        started = trio.current_time()
    assert 0.3 <= trio.current_time() - started < 2
    assert it.said("deaf did not end within 0.3 s and was killed")
    assert not alive(it.family.pids["deaf"])


async def test_stopping_does_not_wait_for_a_pause_between_lives(tmp_path: Path) -> None:
    it = scene(tmp_path, service("bad", BAD))
    it.family.settle()
    async with living(it.family):
        await until(lambda: it.said("starting it again in 2 s"))
        started = trio.current_time()
    assert trio.current_time() - started < 1


async def test_what_a_child_started_ends_with_it(tmp_path: Path) -> None:
    it = scene(tmp_path, service("parent", PARENT))
    async with living(it.family):
        await until(lambda: "deaf" in it.log("parent"))
        grandchild = int(it.log("parent").split()[0])
        assert alive(grandchild)
    await until(lambda: not alive(grandchild))


async def test_what_a_dead_child_left_behind_ends_before_it_is_started_again(tmp_path: Path) -> None:
    it = scene(tmp_path, service("parent", PARENT_THAT_DIES))
    async with living(it.family):
        await until(lambda: it.family.lives["parent"] == 2)
        grandchild = int(it.log("parent").split()[0])
        await until(lambda: not alive(grandchild))


async def test_an_error_in_the_body_leaves_no_child(tmp_path: Path) -> None:
    it = scene(tmp_path, service("a", SLEEP), service("b", SLEEP))
    with pytest.RaisesGroup(ZeroDivisionError):
        async with living(it.family):
            await until(lambda: len(it.family.pids) == 2)
            raise ZeroDivisionError
    assert not any(map(alive, it.family.pids.values()))


async def test_cancelling_the_body_kills_the_children(tmp_path: Path) -> None:
    it = scene(tmp_path, service("a", STUBBORN, grace_s=60), service("b", STUBBORN, grace_s=60))
    with trio.fail_after(5), trio.CancelScope() as scope:
        async with living(it.family):
            await until(lambda: "deaf" in it.log("a") and "deaf" in it.log("b"))
            scope.cancel()
            await trio.sleep_forever()
    assert not any(map(alive, it.family.pids.values()))


async def test_an_end_is_also_found_by_looking(tmp_path: Path) -> None:
    """As on a system that has no pidfd."""
    parent = start_child(service("", PARENT_THAT_DIES).argv, dict(os.environ), tmp_path / "log")
    with trio.fail_after(10):
        assert await poll_for_end(parent) == 4
    grandchild = int((tmp_path / "log").read_text(encoding="utf-8").split()[0])
    await until(lambda: not alive(grandchild))


async def test_a_child_without_a_parent_dies_at_once(tmp_path: Path) -> None:
    """PR_SET_PDEATHSIG: the middle process is killed in a way that it cannot answer."""
    script = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from sie.cli.child import start_child\n"
        f"log = Path({str(tmp_path / 'child.log')!r})\n"
        f"print(start_child([sys.executable, '-c', {STUBBORN!r}], dict(os.environ), log).pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    middle = start_child(service("", script).argv, dict(os.environ), tmp_path / "middle.log")
    log = tmp_path / "child.log"
    await until(lambda: log.exists() and "deaf" in log.read_text(encoding="utf-8"))
    child = int((tmp_path / "middle.log").read_text(encoding="utf-8"))
    os.kill(middle.pid, signal.SIGKILL)
    assert await wait_for_end(middle) == -signal.SIGKILL
    await until(lambda: not alive(child))
