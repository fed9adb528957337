"""ci/constraints.txt pins everything that `.venv` holds, so that a fresh clone gets the versions that were tested."""

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

from ci.lib.environment import CONSTRAINTS, VENV, closure, read_project, strings, table
from ci.lib.pin import canonical, lines_of

UNPINNED = {"pip", "setuptools", "sie-trio", "wheel"}


def pins() -> dict[str, str]:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()[1:]
    return dict(line.split("==") for line in lines)


def test_everything_installed_is_pinned_at_its_version() -> None:
    assert Path(sys.prefix).resolve() == VENV.resolve(), "run this in .venv, which ci/test makes"
    present = {canonical(found.metadata["Name"]): found.version.partition("+")[0] for found in distributions()}
    pinned = pins()
    assert {
        name: version for name, version in present.items() if name not in UNPINNED and pinned.get(name) != version
    } == {}


def test_everything_that_pyproject_asks_for_is_pinned() -> None:
    project = read_project()
    extras = table(project, "project", "optional-dependencies")
    requirements = strings(table(project, "project")["dependencies"])
    requirements += [entry for extra in closure(["dev"], project) for entry in strings(extras[extra])]
    names = {canonical(match[0]) for entry in requirements if (match := re.match(r"[\w.-]+", entry))}
    assert names - set(pins()) - UNPINNED == set()


def test_the_file_is_plain_pins_by_name() -> None:
    header, *lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    assert header.startswith("# ")
    assert [line.split("==")[0] for line in lines] == sorted(pins())
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.!]+", line)] == []


def test_a_report_becomes_canonical_lines_without_the_project_and_without_build_suffixes() -> None:
    report = """{"install": [
        {"metadata": {"name": "Mypy_Extensions", "version": "1.2.0"}},
        {"metadata": {"name": "jax", "version": "0.10.2+local"}},
        {"metadata": {"name": "sie_trio", "version": "0.1.0"}}
    ]}"""
    assert lines_of(report, "sie-trio") == ["jax==0.10.2", "mypy-extensions==1.2.0"]
