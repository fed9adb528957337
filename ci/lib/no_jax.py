"""A pytest plugin for the stages that must start fast: importing jax or flax is an error there, not a slow surprise.

Modules marked `engine` as a whole (`pytestmark = pytest.mark.engine`) are not even collected: they may import jax at
their top.
"""

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

REFUSED = frozenset({"flax", "jax", "jaxlib"})


class JaxImported(Exception):
    """A test outside the engine stage reached jax; not an ImportError, which code may take for `not installed`."""


class Refusal:
    """A finder that comes first and finds nothing."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in REFUSED:
            raise JaxImported(f"{fullname} is for tests marked engine; this stage runs without it")
        return None


def pytest_configure() -> None:
    sys.meta_path.insert(0, Refusal())


def pytest_unconfigure() -> None:
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Refusal)]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """None leaves the answer to pytest."""
    whole = collection_path.suffix == ".py" and is_engine_module(collection_path.read_text(encoding="utf-8"))
    return True if whole else None


def is_engine_module(source: str) -> bool:
    return any(
        isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in statement.targets)
        and any(isinstance(node, ast.Attribute) and node.attr == "engine" for node in ast.walk(statement.value))
        for statement in ast.parse(source).body
    )
