"""What must never reach the broker, which would close the connection (§8)."""

import pytest

from sie.bus.limits import check_pattern, check_subject, checked_size, header_bytes


@pytest.mark.parametrize("pattern", ["a", "a.*.c", "a.>", ">", "*", "$JS.API.>", "a/b.c_d"])
def test_patterns_may_hold_whole_wildcard_tokens(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", ["", "a..b", ".a", "a.", "a.>.b", "a*.b", "a.b>", "a b", "a\tb"])
def test_other_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"subject|wildcard"):
        check_pattern(pattern)


def test_a_protocol_line_stays_below_what_the_broker_reads() -> None:
    check_subject("a" * 2000, "b" * 2000)
    with pytest.raises(ValueError, match="exceed"):
        check_subject("a" * 2100, "b" * 2100)


@pytest.mark.parametrize("headers", [{"": "a"}, {"a b": "c"}, {"a:b": "c"}, {"a": "b\r\nc"}, {"ä": "b"}])
def test_headers_that_cannot_stand_on_one_line_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not a header"):
        header_bytes(headers)


def test_headers_count_as_they_are_encoded() -> None:
    assert header_bytes({}) == 0
    assert header_bytes({"A": "ä", "Bc": ""}) == len("NATS/1.0\r\nA: ä\r\nBc: \r\n\r\n".encode())
    assert checked_size("a", b"1234", "", {"A": "b"}, 100) == len(b"NATS/1.0\r\nA: b\r\n\r\n1234")
