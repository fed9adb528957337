"""A test that never ends fails at its ceiling and the run goes on; jax is refused outside the engine stage."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ci.lib import no_jax
from tests.project.tree import ROOT

CONFTEST = "from ci.lib import ceiling\ndef pytest_configure(config): ceiling.install(config)\n"
HANGING = """
import threading, time, trio, pytest
pytestmark = pytest.mark.ceiling(0.2)

async def test_waits_for_ever(): await trio.sleep_forever()
async def test_never_yields():
    while True: time.sleep(0.01)
async def test_waits_beside_a_child():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.start_soon(trio.sleep_forever)
def test_blocks(): threading.Event().wait()
def test_ends(): pass

@pytest.fixture
def slow(): time.sleep(60)
def test_is_set_up_for_ever(slow): pass
async def test_ends_too(): await trio.sleep(0)
"""
SHIELDED = """
import trio, pytest
def test_ends(): pass
@pytest.mark.ceiling(0.2)
async def test_shields_itself():
    with trio.CancelScope(shield=True): await trio.sleep_forever()
"""


def run_pytest(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir"]
    command += [str(folder), str(folder), *arguments]
    quiet = os.environ | {"PYTEST_ADDOPTS": "-p no:cacheprovider", "NO_COLOR": "1"}
    result = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=25, check=False)
    return result.stdout + result.stderr


def test_what_never_ends_fails_at_its_ceiling_and_the_rest_still_runs(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_hanging.py").write_text(HANGING, encoding="utf-8")
    output = run_pytest(tmp_path)
    assert re.search(r"= 4 failed, 2 passed, 1 error in", output), output
    assert output.count("still running at its ceiling of 0.2 s") >= 5


def test_a_run_that_was_started_with_interrupts_ignored_has_its_ceilings(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # what a child is born with
    try:
        test_what_never_ends_fails_at_its_ceiling_and_the_rest_still_runs(tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_test_that_shields_itself_ends_the_run_with_a_summary(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_shielded.py").write_text(SHIELDED, encoding="utf-8")
    output = run_pytest(tmp_path)
    assert "test_shields_itself did not end when it was interrupted" in output
    assert re.search(r"= 1 passed in", output), output


def test_jax_is_refused_where_the_stage_says_so(tmp_path: Path) -> None:
    (tmp_path / "test_jax.py").write_text("def test_computes():\n    import jax.numpy\n", encoding="utf-8")
    assert "JaxImported: jax is for tests marked engine" in run_pytest(tmp_path, "-p", "ci.lib.no_jax")


def test_a_module_marked_engine_is_not_even_collected_there(tmp_path: Path) -> None:
    marked = "import jax, pytest\npytestmark = pytest.mark.engine\ndef test_computes(): pass\n"
    (tmp_path / "test_jax.py").write_text(marked, encoding="utf-8")
    assert "no tests ran" in run_pytest(tmp_path, "-p", "ci.lib.no_jax")


@pytest.mark.parametrize("mark", ["pytest.mark.engine", "[pytest.mark.ceiling(9), pytest.mark.engine]"])
def test_an_engine_module_is_known_by_its_mark(mark: str) -> None:
    assert no_jax.is_engine_module(f"pytestmark = {mark}")
    assert not no_jax.is_engine_module(f"@{mark}\ndef test_x() -> None: ..." if mark[0] != "[" else "pytestmark = []")
