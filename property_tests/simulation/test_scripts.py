"""The whole cluster keeps its rules whatever is asked and whatever breaks, and each run can be had again."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from property_tests.simulation.mutants import MUTANTS
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.faults import FAULTS
from sie.testing.simulation.run import run_script
from sie.testing.simulation.script import Script, from_json, scripts, to_json
from sie.testing.simulation.search import search

STEPS = 10_000
EXAMPLES = 30
MUTANT_EXAMPLES = 60
MUTANT_STEPS = 2_000


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> CatalogueFolders:
    return CatalogueFolders.write(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Every simulated fault is logged as a real one would be."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.ceiling(900)
def test_no_rule_is_broken_in_ten_thousand_faulted_steps(folders: CatalogueFolders) -> None:
    steps, faults, number = 0, set[str](), 0
    while steps < STEPS:
        tally = search(folders, number, EXAMPLES, shrink=False)
        assert tally.failure is None, f"{tally.violations}\n{to_json(tally.failure)}"
        steps, number = steps + tally.steps, number + 1
        faults |= set(tally.faults)
    assert faults == {kind.__name__ for kind in FAULTS}


@given(scripts(30))
def test_a_script_is_its_own_replay_file(script: Script) -> None:
    assert from_json(to_json(script)) == script


@given(script=scripts(40, min_steps=20))
@settings(max_examples=5)
def test_two_runs_of_a_script_write_the_same_log(folders: CatalogueFolders, script: Script) -> None:
    assert run_script(script, folders).log == run_script(script, folders).log


@given(script=scripts(40, min_steps=40))
@settings(max_examples=2)
def test_another_process_with_another_hash_seed_writes_the_same_log(folders: CatalogueFolders, script: Script) -> None:
    path = folders.root / "script.json"
    path.write_text(to_json(script), encoding="utf-8")
    logs = [replayed(path, hash_seed) for hash_seed in ("1", "2")]
    assert logs[0] == logs[1]
    assert logs[0].startswith(run_script(script, folders).log)


def replayed(path: Path, hash_seed: str) -> str:
    command = [sys.executable, "-m", "ci.lib.simulate", "--replay", str(path)]
    return subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.ceiling(400)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_seeded_bug_is_caught(folders: CatalogueFolders, name: str) -> None:
    with MUTANTS[name].swapped():
        tally = search(folders, 1, MUTANT_EXAMPLES, shrink=False)
    assert tally.failure is not None, MUTANTS[name].about
    assert tally.steps <= MUTANT_STEPS
