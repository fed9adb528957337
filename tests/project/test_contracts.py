"""The import contracts of pyproject.toml hold, and each catches what it is there for (seeded in a copy of src/sie)."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.project.tree import ROOT, SOURCE

LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"

FLOORS = "Floors: imports point down; names on one line are strangers"
PURE = "Cores are sans-IO"
JAX_HOME = "JAX and Flax are imported under adapters alone"
JAX_USERS = "Only the backend reaches adapters that load JAX"
NATS = "nats-py and trio-asyncio live in two files"
ARRAYS = "Arrays live on the device side, in one wire format and in the SDK"
LIGHT = "The SDK is light"

VIOLATIONS: dict[str, tuple[Mapping[str, str], str]] = {
    "domain waits": ({"domain.seeded": "import trio"}, PURE),
    "wire reads the clock": ({"wire.seeded": "import time"}, PURE),
    "a core logs": ({"gateway.core.seeded": "import logging"}, PURE),
    "a core of a new service rolls dice": ({"edge.core.seeded": "from random import random"}, PURE),
    "a core waits through runtime": ({"worker.core.seeded": "import sie.runtime.x", "runtime.x": "import trio"}, PURE),
    "the gateway loads jax": ({"gateway.http.seeded": "import jax"}, JAX_HOME),
    "the backend loads jax itself": ({"backend.seeded": "import jax.numpy"}, JAX_HOME),
    "the worker loads jax by an adapter": (
        {"worker.consume.x": "import sie.adapters.x", "adapters.x": "import jax"},
        JAX_USERS,
    ),
    "the gateway imports the worker": ({"gateway.sync.seeded": "import sie.worker"}, FLOORS),
    "runtime imports the bus": ({"runtime.seeded": "def f():\n    from sie.bus import api"}, FLOORS),
    "the bus imports telemetry": ({"telemetry.x": "", "bus.seeded": "import sie.telemetry.x"}, FLOORS),
    "a room that the plan does not have": ({"plumbing.seeded": ""}, FLOORS),
    "a room that the gateway does not have": ({"gateway.plumbing": ""}, "Gateway rooms"),
    "http imports app": ({"gateway.app": "", "gateway.http.seeded": "import sie.gateway.app"}, "Gateway rooms"),
    "a store imports a publisher": (
        {"config.store": "import sie.config.publisher", "config.publisher": ""},
        "Config rooms",
    ),
    "a core imports its worker": (
        {"worker.core.seeded": "import sie.worker.children", "worker.children": ""},
        "Worker rooms",
    ),
    "the worker speaks to nats itself": ({"worker.consume.seeded": "import nats"}, NATS),
    "streams speak to nats themselves": ({"bus.jetstream": "import nats.js"}, NATS),
    "the gateway runs asyncio beside trio": ({"gateway.dispatch.seeded": "import trio_asyncio"}, NATS),
    "the gateway computes": ({"gateway.dispatch.seeded": "import numpy as np"}, ARRAYS),
    "the sdk reads yaml": ({"sdk.seeded": "import yaml"}, LIGHT),
    "the sdk reads yaml by the wire": ({"sdk.seeded": "import sie.wire.x", "wire.x": "import yaml"}, LIGHT),
}


def seed(source: Path, modules: Mapping[str, str]) -> None:
    """Write each `room.module` over what may be there, with the packages above it."""
    for name, text in modules.items():
        *packages, module = name.split(".")
        folder = source
        for package in packages:
            folder /= package
            folder.mkdir(exist_ok=True)
            folder.with_suffix(".py").unlink(missing_ok=True)
            (folder / "__init__.py").touch()
        shutil.rmtree(folder / module, ignore_errors=True)
        (folder / f"{module}.py").write_text(f"{text}\n", encoding="utf-8")


def broken(folder: Path) -> list[str]:
    """The names of the contracts that `folder/sie` breaks."""
    result = subprocess.run(
        [LINT_IMPORTS, "--no-logo", "--no-cache", ROOT / "pyproject.toml"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(.+) BROKEN\b", result.stdout, re.MULTILINE)
    assert (result.returncode == 0) == (not found), result.stdout + result.stderr
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE, tmp_path / "sie", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_contracts_hold(copy: Path) -> None:
    assert broken(copy) == []


@pytest.mark.parametrize(("modules", "contract"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_a_violation_breaks_its_contract(copy: Path, modules: Mapping[str, str], contract: str) -> None:
    seed(copy / "sie", modules)
    assert contract in broken(copy)
