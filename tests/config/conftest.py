"""The folders that most of these tests begin with: two bundles and a model."""

from pathlib import Path

import pytest

from tests.config.stage import BETA, BUNDLE, MODEL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "alpha.yaml").write_text(BUNDLE)
    (tmp_path / "beta.yaml").write_text(BETA)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yaml").write_text(MODEL)
    return tmp_path
