"""Each constructor takes exactly what its rule says (§3, §16.3), and a refusal names the field and the value."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain import ids
from sie.testing import strategies

TOKEN = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
SUBJECT_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
NEARLY_IDS = st.text(st.sampled_from("aZ09._-/ \n*>:@é\u212a"), max_size=6) | st.text() | st.just("a" * 129)

Make = Callable[[str], str]


def taken(make: Make, text: str, field: str) -> str | None:
    """What the constructor made of the text; None for a refusal, which must name the field and the value."""
    try:
        return make(text)
    except ids.InvalidId as error:
        told = error
    assert (told.field, told.value) == (field, text)
    assert str(told).startswith(f"{field} {text!r} must")
    return None


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (ids.profile_name, "profile"),
        (ids.bundle_name, "bundle"),
        (ids.machine_profile, "machine profile"),
        (ids.worker_id, "worker id"),
    ],
)
@given(text=NEARLY_IDS)
def test_a_token_is_taken_as_it_is_or_not_at_all(make: Make, field: str, text: str) -> None:
    assert taken(make, text, field) == (text if TOKEN.match(text) else None)


@given(NEARLY_IDS)
def test_a_router_id_is_one_subject_token(text: str) -> None:
    assert taken(ids.router_id, text, "router id") == (text if SUBJECT_TOKEN.match(text) else None)


@given(NEARLY_IDS)
def test_a_pool_name_is_a_subject_token_in_lower_case(text: str) -> None:
    stripped = text.strip()
    fits = SUBJECT_TOKEN.match(stripped) and stripped.lower() != "_default"
    assert taken(ids.pool_name, text, "pool") == (stripped.lower() if fits else None)


@given(NEARLY_IDS)
def test_a_canonical_pool_name_stays_as_it_is(text: str) -> None:
    name = taken(ids.pool_name, text, "pool")
    assert name is None or ids.pool_name(name) == name


@given(NEARLY_IDS | st.sampled_from(("status", "a/status", "statuses", "a__b", "a/_b", "a_/b", "a..b")))
def test_a_model_id_is_taken_as_it_is_or_not_at_all(text: str) -> None:
    fits = (
        re.match(r"[a-zA-Z0-9][a-zA-Z0-9._/-]*\Z", text)
        and not re.search(r"\.\.|__|/_", text)
        and not f"/{text}".endswith("/status")
    )
    assert taken(ids.model_id, text, "sie_id") == (text if fits else None)


@given(st.lists(st.from_regex(r"[ab][ab_/]{0,6}", fullmatch=True), min_size=2, max_size=6))
def test_no_two_model_ids_share_their_stored_form(texts: list[str]) -> None:
    accepted = {text for text in texts if taken(ids.model_id, text, "sie_id")}
    assert len({text.replace("/", "__") for text in accepted}) == len(accepted)


@given(strategies.model_ids, strategies.pool_names, strategies.router_ids, strategies.profile_names)
def test_drawn_ids_are_ids(model: str, pool: str, router: str, profile: str) -> None:
    assert ids.model_id(model) == model
    assert ids.pool_name(pool) == pool
    assert ids.router_id(router) == router
    assert ids.profile_name(profile) == profile
