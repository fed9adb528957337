"""Whose token is it, and does it let anybody in (wire-facts 3.1)?"""

import pytest

from sie.web.auth import bearer_token, is_one_of, token_id


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer secret", "secret"),
        ("bEaReR   secret  ", "secret"),
        ("secret", "secret"),
        ("  ", None),
        ("Bearer", None),
        ("Bearer  ", None),
        ("Basic abc", "Basic abc"),
    ],
)
def test_the_scheme_is_optional_and_its_case_does_not_count(header: str, token: str | None) -> None:
    assert bearer_token({"authorization": header}) == token


def test_no_header_is_no_token() -> None:
    assert bearer_token({}) is None


def test_an_unset_or_empty_token_lets_nobody_in() -> None:
    assert not is_one_of("", ["", None])
    assert not is_one_of("secret", [None, ""])
    assert is_one_of("gehe\xefm", [None, "gehe\xefm"])
    assert not is_one_of("\udcff", ["secret"])


def test_a_token_is_logged_by_its_digest_alone() -> None:
    assert token_id("secret") == "2bb80d537b1d"
    assert token_id(None) == "anonymous"
