"""A pytest plugin that leaves its run's counts in a folder, so that the last line of `ci/test` adds up several runs."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

VARIABLE = "SIE_CI_TALLY"
WORDS = {"failed": "failed", "passed": "passed", "skipped": "skipped", "xfailed": "xfailed", "error": "errors"}

Counts = Mapping[str, int]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if folder := os.environ.get(VARIABLE):
        counts = {key: len(terminalreporter.stats.get(key, ())) for key in WORDS}
        (Path(folder) / f"{os.getpid()}.json").write_text(json.dumps(counts), encoding="utf-8")


def read(folder: Path) -> Counts:
    """The sum over the runs, by pytest's own words and in its order."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return {word: sum(run[key] for run in runs) for key, word in WORDS.items()}
