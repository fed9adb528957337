"""Fixtures for the tests of adapters."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.adapters.checkpoints import write_checkpoint

if TYPE_CHECKING:
    from sie.adapters.tasks.dense import DenseEncoder


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "tiny")


@pytest.fixture(scope="session")
def engine_cache() -> str:
    """Weights and compiled programs, kept between runs: MiniLM is downloaded once."""
    return os.environ.get("SIE_CACHE_DIR") or str(Path("~/.cache/sie").expanduser())


@pytest.fixture(scope="session")
def dense() -> "type[DenseEncoder]":
    """For tests marked `engine`."""
    from sie.adapters.tasks.dense import DenseEncoder  # noqa: PLC0415 - imports JAX, which the other tests never do

    return DenseEncoder
