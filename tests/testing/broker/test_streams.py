"""When does a stream let go of what is too old?"""

import pytest

from sie.bus.jetstream_api import NS_PER_S
from sie.testing.broker.agenda import Agenda
from sie.testing.broker.configs import read_stream
from sie.testing.broker.streams import AGE_CHECK_S, Stream

MAX_AGE_S = 2.0


def aged(storage: str) -> Stream:
    config = read_stream({"name": "s", "storage": storage, "max_age": round(MAX_AGE_S * NS_PER_S)})
    return Stream(config, 0.0, Agenda(), on_removed=lambda _: None, on_purged=lambda: None)


def left_at(stream: Stream, now_s: float) -> int:
    stream.agenda.run_until(now_s)
    return len(stream)


@pytest.mark.parametrize(("storage", "left"), [("memory", 1), ("file", 2)])
def test_what_is_too_old_goes_at_the_next_look_and_the_clock_of_files_is_late_for_the_first(
    storage: str, left: int
) -> None:
    stream = aged(storage)
    stream.keep("s", b"", {})
    stream.agenda.run_until(0.1)
    stream.keep("s", b"", {})
    assert left_at(stream, MAX_AGE_S) == left
    assert left_at(stream, MAX_AGE_S + AGE_CHECK_S - 0.01) == left
    assert left_at(stream, MAX_AGE_S + AGE_CHECK_S) == 0
