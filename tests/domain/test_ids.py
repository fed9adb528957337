"""Ids at the edges of their rules; property_tests/domain/test_ids.py holds the rules themselves."""

from collections.abc import Callable

import pytest

from sie.domain import ids


@pytest.mark.parametrize(
    "text", ["a", "BAAI/bge-m3", "vidore/colqwen2.5-v0.2", "0", "a_b/c_d", "a/", "a//b", "statuses", "status/a"]
)
def test_a_model_id_of_the_reference_is_taken(text: str) -> None:
    assert ids.model_id(text) == text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "must match"),
        ("/a", "must match"),
        ("a:b", "must match"),
        ("a@b", "must match"),
        ("a\\b", "must match"),
        ("a\n", "must match"),
        ("../a", "must match"),
        ("a/../b", r"must not contain '\.\.'"),
        ("a__b", "must not contain"),
        ("a/_b", "must not contain"),
        ("status", "must not be 'status'"),
        ("a/status", "must not be 'status'"),
    ],
)
def test_a_refused_model_id_is_told_with_its_rule(text: str, rule: str) -> None:
    with pytest.raises(ids.InvalidId, match=rule) as told:
        ids.model_id(text)
    assert repr(text) in str(told.value)


def test_a_pool_name_is_kept_in_lower_case_without_blanks_around_it() -> None:
    assert ids.pool_name(" Team-A\n") == "team-a"


@pytest.mark.parametrize("text", ["", "  ", "_default", "_DEFAULT", "a b", "a.b", "x" * 129, "\u212a"])
def test_a_bad_pool_name_is_refused(text: str) -> None:
    with pytest.raises(ids.InvalidId, match=r"^pool "):
        ids.pool_name(text)


@pytest.mark.parametrize("make", [ids.profile_name, ids.bundle_name, ids.machine_profile, ids.worker_id, ids.router_id])
def test_128_characters_are_the_most_that_a_token_has(make: Callable[[str], str]) -> None:
    assert make("x" * 128) == "x" * 128
    with pytest.raises(ids.InvalidId):
        make("x" * 129)
