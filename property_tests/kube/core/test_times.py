"""Times of Kubernetes: what was written is read again, to the precision of its form."""

import math

from hypothesis import given
from hypothesis import strategies as st

from sie.kube.core.times import read_time, write_micro_time, write_time

micros = st.integers(0, 4_000_000_000 * 10**6)


@given(micros)
def test_a_micro_time_keeps_its_microsecond(micro: int) -> None:
    text = write_micro_time(micro / 10**6)
    assert len(text) == len("2026-01-02T03:04:05.000006Z")
    assert round(read_time(text) * 10**6) == micro


@given(micros)
def test_a_time_keeps_its_second(micro: int) -> None:
    assert read_time(write_time(micro / 10**6)) == math.floor(micro / 10**6)


@given(micros, st.integers(-14, 14))
def test_an_offset_is_the_same_instant(micro: int, hours: int) -> None:
    text = write_micro_time(micro / 10**6).replace("Z", f"{'-' if hours < 0 else '+'}{abs(hours):02}:00")
    assert round((read_time(text) + hours * 3600) * 10**6) == micro
