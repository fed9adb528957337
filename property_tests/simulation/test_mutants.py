"""Each seeded bug is caught, a failure is shrunk to a file that fails the same way, and a run that hangs ends."""

import logging
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
import trio

from ci.lib.simulate import pool, replay, steps_to_catch, written
from property_tests.simulation.mutants import MUTANTS, Swap
from sie.gateway.core.fleet import Fleet
from sie.testing.cluster.catalogue import SMALL, CatalogueFolders
from sie.testing.cluster.client import Ask
from sie.testing.cluster.topology import Topology
from sie.testing.simulation.run import LIVELOCK, run_script
from sie.testing.simulation.script import Script, from_json
from sie.testing.simulation.search import search
from sie.testing.simulation.steps import Wait
from sie.testing.simulation.watch import Watch
from sie.worker.consume.intake import Intake

SEED = 1


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> CatalogueFolders:
    return CatalogueFolders.write(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Every simulated fault is logged as a real one would be."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def caught(folders: CatalogueFolders) -> Mapping[str, int | None]:
    """The steps to each; all of them on all cores."""
    with pool() as workers:
        found = workers.map(partial(steps_to_catch, folders), [(name, SEED) for name in MUTANTS])
        return dict(zip(MUTANTS, found, strict=True))


@pytest.mark.ceiling(600)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_seeded_bug_is_caught(caught: Mapping[str, int | None], name: str) -> None:
    assert caught[name] is not None, MUTANTS[name].about


@pytest.mark.ceiling(120)
def test_a_failure_is_shrunk_to_a_file_that_fails_the_same_way(
    folders: CatalogueFolders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MUTANTS["no ack"].swapped():
        row = written(search(folders, 0, 20), tmp_path, folders)
        (path,) = tmp_path.iterdir()
        assert replay(path) == 1
    assert "does not acknowledge it" in capsys.readouterr().out
    assert str(path) in str(row["replay"])
    assert len(from_json(path.read_text(encoding="utf-8")).steps) <= 2
    assert replay(path) == 0


ONE_ASK = Script(1, Topology(), (Ask(0, SMALL, 1), Wait(1.0)))


async def turns_for_ever(_: Intake) -> None:
    while True:
        await trio.lowlevel.checkpoint()


def runs_for_ever(*_: object) -> None:
    while True:
        pass


def test_tasks_that_take_turns_for_ever_are_a_failure(folders: CatalogueFolders) -> None:
    with Swap(Intake, "_pull_until_full", turns_for_ever).swapped():
        report = run_script(ONE_ASK, folders)
    assert report.violations == (LIVELOCK,)


def test_a_task_that_never_gives_up_control_is_a_failure(folders: CatalogueFolders) -> None:
    with Swap(Fleet, "observe", runs_for_ever).swapped():
        report = run_script(ONE_ASK, folders, Watch(stuck_s=1.0))
    assert report.violations == (LIVELOCK,)
