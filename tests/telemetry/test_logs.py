"""Log lines: one a record, in the form asked for, with the fields that the event carries."""

import json
import logging
from datetime import datetime

import pytest

from sie.telemetry.logs import JsonFormatter, PlainFormatter


def record(event: str, *arguments: object, level: int = logging.INFO, **extra: object) -> logging.LogRecord:
    return logging.getLogger("sie.gateway.sync").makeRecord(
        "sie.gateway.sync", level, __file__, 1, event, arguments, None, extra=extra
    )


def fail() -> None:
    raise LookupError("gone")


def failed(event: str) -> logging.LogRecord:
    made = record(event, level=logging.ERROR)
    try:
        fail()
    except LookupError as error:
        made.exc_info = (type(error), error, error.__traceback__)
    return made


def test_a_json_line_holds_time_level_logger_event_and_the_extras() -> None:
    row = json.loads(JsonFormatter().format(record("export read", epoch=3, model="a/b", failed=["c"])))
    assert datetime.fromisoformat(row.pop("time")).utcoffset() is not None
    assert row == {
        "level": "info",
        "logger": "sie.gateway.sync",
        "event": "export read",
        "epoch": 3,
        "model": "a/b",
        "failed": ["c"],
    }


@pytest.mark.parametrize("text", ["two\nlines", "\r\x00\x1b[2J", "é\u2028", '"quoted"', "\ud800"])
def test_a_json_line_is_one_line_whatever_it_tells(text: str) -> None:
    line = JsonFormatter().format(record("seen", text=text))
    assert "\n" not in line
    assert json.loads(line)["text"] == text


def test_a_json_line_tells_what_json_has_no_form_for_as_text() -> None:
    row = json.loads(JsonFormatter().format(record("seen", error=LookupError("gone"), ids={1})))
    assert (row["error"], row["ids"]) == ("gone", "{1}")


def test_a_traceback_stands_in_its_own_field() -> None:
    row = json.loads(JsonFormatter().format(failed("poll failed")))
    assert (row["event"], row["level"]) == ("poll failed", "error")
    assert "Traceback" in row["error"]
    assert "LookupError: gone" in row["error"]


def test_a_plain_line_shows_the_event_and_then_the_extras() -> None:
    line = PlainFormatter().format(record("read %d rows", 2, epoch=3, model="a/b"))
    assert line.endswith(" INFO    sie.gateway.sync read 2 rows epoch=3 model=a/b")


def test_a_plain_line_is_one_line_so_that_no_value_can_forge_another() -> None:
    line = PlainFormatter().format(record("seen", model="a\n2026-01-01 INFO sie all is well"))
    assert "\n" not in line


def test_a_plain_record_of_an_error_is_followed_by_its_traceback() -> None:
    lines = PlainFormatter().format(failed("poll failed")).splitlines()
    assert lines[0].endswith("poll failed")
    assert lines[-1] == "LookupError: gone"
