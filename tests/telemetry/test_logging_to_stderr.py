"""The root logger of a whole process: what it writes, what it drops, and that a blocked stderr blocks nothing else."""

import json
import subprocess
import sys

import pytest

from sie.telemetry.logs import QUEUE_RECORDS

pytestmark = pytest.mark.system

SOME = """
import logging
from sie.telemetry.logs import logging_to_stderr

log = logging.getLogger("sie.example")
with logging_to_stderr(level="{level}", as_json={as_json}):
    log.info("first", extra={{"n": 1}})
    log.warning("second", extra={{"n": 2}})
    log.debug("never told")
log.warning("after the end")
"""

MANY = f"""
import logging
from sie.telemetry.logs import QUEUE_RECORDS, logging_to_stderr

log = logging.getLogger("sie.example")
with logging_to_stderr(level="info", as_json=True):
    for n in range(3 * {QUEUE_RECORDS}):
        log.info("many", extra={{"n": n, "pad": "x" * 64}})
    print("logged", flush=True)
"""


def stderr_of(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_what_was_logged_is_written_before_the_end_in_order() -> None:
    first, second, after = stderr_of(SOME.format(level="info", as_json=True))
    assert [json.loads(line)["n"] for line in (first, second)] == [1, 2]
    assert after == "after the end"


def test_the_level_decides_what_is_written() -> None:
    lines = stderr_of(SOME.format(level="warning", as_json=False))
    assert len(lines) == 2
    assert lines[0].endswith("sie.example second n=2")


def test_a_blocked_stderr_drops_records_and_stalls_nothing() -> None:
    """Nobody reads stderr until the program has logged everything, which is more than the pipe and the queue hold."""
    arguments = [sys.executable, "-c", MANY]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline() == "logged\n"
        rows = [json.loads(line) for line in program.stderr]
        assert program.wait() == 0
    numbers = [row["n"] for row in rows]
    assert QUEUE_RECORDS <= len(numbers) < 2 * QUEUE_RECORDS
    assert numbers == sorted(set(numbers))  # the pipe takes some of them now and then, so what is dropped lies between
    assert numbers[:QUEUE_RECORDS] == list(range(QUEUE_RECORDS))
