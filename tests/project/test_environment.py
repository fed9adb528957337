"""How the programs under ci/ get their environment: what an extra brings along, and when an install is done again."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from ci.lib import environment
from tests.project.tree import ROOT

PROJECT = {
    "project": {
        "name": "sie-trio",
        "optional-dependencies": {
            "dev": ["pytest", "sie-trio[local]"],
            "local": ["sie-trio[cli,sdk]"],
            "cli": [],
            "sdk": [],
        },
    }
}


def programs() -> list[Path]:
    return [path for path in sorted((ROOT / "ci").iterdir()) if path.is_file() and not path.suffix]


def test_an_extra_brings_the_extras_that_it_names() -> None:
    assert environment.closure(["dev"], PROJECT) == {"dev", "local", "cli", "sdk"}
    assert environment.closure([], PROJECT) == frozenset()


def test_an_unknown_extra_is_refused_by_name() -> None:
    with pytest.raises(SystemExit, match="no extra named 'gpu'"):
        environment.closure(["gpu"], PROJECT)


def test_a_stamp_holds_for_one_fingerprint_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "STAMP", tmp_path / "installed.json")
    assert environment.installed_extras("a") == frozenset()
    environment.write_stamp("a", ["dev"])
    assert environment.installed_extras("a") == {"dev"}
    assert environment.installed_extras("b") == frozenset()


def test_an_unreadable_stamp_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "STAMP", tmp_path / "installed.json")
    environment.STAMP.write_text('{"fingerp', encoding="utf-8")
    assert environment.installed_extras("a") == frozenset()


@pytest.mark.parametrize("program", programs(), ids=lambda path: path.name)
def test_a_program_is_executable_and_starts_a_module_that_exists(program: Path) -> None:
    assert os.access(program, os.X_OK)
    (module,) = re.findall(r"lib/start\" [\w,]+ (ci\.lib\.\w+)", program.read_text(encoding="utf-8"))
    assert (ROOT / f"{module.replace('.', '/')}.py").exists()


def test_an_old_python_is_told_what_is_needed(tmp_path: Path) -> None:
    """A PATH where every python is 3.9."""
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2"\nexit 1\n', encoding="utf-8")
    old.chmod(0o755)
    for tool in ("bash", "dirname", "sh"):
        (tmp_path / tool).symlink_to(
            next(Path(folder) / tool for folder in ("/bin", "/usr/bin") if (Path(folder) / tool).exists())
        )
    path = {"PATH": str(tmp_path)}
    result = subprocess.run([ROOT / "ci" / "test"], env=path, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "needs Python 3.11 or newer" in result.stderr
    assert "Python 3.9.2" in result.stderr
