"""Each console script of pyproject.toml leads to a program that also runs by `python -m` and explains itself."""

import subprocess
import sys

import pytest

from ci.lib.environment import read_project, table
from tests.project.tree import ROOT

SCRIPTS = {name: str(target) for name, target in table(read_project(), "project", "scripts").items()}


@pytest.mark.parametrize("target", SCRIPTS.values(), ids=SCRIPTS)
def test_a_console_script_runs_as_a_module_and_explains_itself(target: str) -> None:
    package, _, function = target.partition(".__main__:")
    command = [sys.executable, "-m", package, "--help"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert result.returncode == 0, result.stderr
    assert "usage" in result.stdout.lower()
    assert function == "main"


def test_there_are_scripts_to_look_at() -> None:
    assert "sie" in SCRIPTS
