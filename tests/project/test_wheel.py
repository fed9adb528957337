"""The wheel, not only the checkout, carries what the services look for: data files, typing marker, console scripts."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from ci.lib.environment import read_project, table
from tests.project.tree import ROOT, SOURCE, files_under


def run(*command: str | Path, cwd: Path) -> str:
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": ""}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    run(sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", folder, ROOT, cwd=folder)
    return next(folder.glob("sie_trio-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    offline = ("--no-deps", "--no-index", "--quiet")
    run(sys.executable, "-m", "pip", "install", *offline, "--target", folder, wheel, cwd=folder)
    return folder


def test_the_wheel_holds_every_source_file(wheel: Path) -> None:
    expected = {str(path.relative_to(SOURCE.parent)) for path in files_under(SOURCE)}
    assert expected - set(ZipFile(wheel).namelist()) == set()
    assert "sie/py.typed" in expected


def test_an_install_without_the_checkout_holds_the_bundles_and_the_catalogue(installed: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(installed)!r}); import sie; print(sie.__file__)"
    assert run(sys.executable, "-c", program, cwd=installed).strip() == str(installed / "sie" / "__init__.py")
    for pattern in ("*.yaml", "models/*.yaml"):
        baked = {path.name: path.read_bytes() for path in (ROOT / "bundles").glob(pattern)}
        carried = {path.name: path.read_bytes() for path in (installed / "sie" / "bundles").glob(pattern)}
        assert carried == baked != {}


def test_the_install_has_a_command_for_each_console_script(installed: Path) -> None:
    assert set(table(read_project(), "project", "scripts")) <= {path.name for path in (installed / "bin").iterdir()}
