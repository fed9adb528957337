"""Times are read as they were written, and as nats-server writes them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.wire.instants import read_instant, write_instant

unix_us = st.integers(0, 4_000_000_000_000_000)


@given(unix_us)
def test_reading_undoes_writing_to_the_microsecond(at_us: int) -> None:
    read = read_instant(write_instant(at_us / 1e6))
    assert abs((read - datetime.fromtimestamp(0, UTC)).total_seconds() - at_us / 1e6) < 2e-6


@given(st.integers(1, 9), st.integers(0, 999_999_999))
def test_any_number_of_decimals_is_read(digits: int, fraction: int) -> None:
    text = f"{fraction:09d}"[:digits]
    read = read_instant(f"2026-11-30T12:51:39.{text}Z")
    assert read == datetime(2026, 11, 30, 12, 51, 39, int(f"{text:0<9}"[:6]), UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-30T12:51:39", "2026-13-30T12:51:39Z"])
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|offset|month"):
        read_instant(text)
