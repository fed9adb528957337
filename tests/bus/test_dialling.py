"""Whom a bus dials and how long it waits between tries (§10)."""

import pytest

from sie.bus.dialling import BACKOFF_MAX_S, Endpoint, Tries


def waits(count: int) -> list[float]:
    tries = Tries()
    found = []
    for _ in range(count):
        tries.next()
        found.append(tries.wait_s)
    return found


def test_waits_double_from_a_tenth_to_two_seconds() -> None:
    assert waits(7) == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert waits(2000)[-1] == BACKOFF_MAX_S


def test_a_session_that_broke_at_once_counts_as_a_failed_try() -> None:
    tries = Tries(count=3)
    tries.lasted(0.01)
    assert tries.count == 3
    tries.lasted(10)
    assert tries.count == 0


def test_only_the_powers_of_two_are_logged() -> None:
    assert [count for count in range(1, 20) if Tries(count).worth_a_line] == [1, 2, 4, 8, 16]


def test_an_endpoint_shows_no_password() -> None:
    endpoint = Endpoint("nats://sie:secret@a:4222,nats://b:4222", "gateway", "sie", "hidden")
    assert endpoint.servers == ["nats://sie:secret@a:4222", "nats://b:4222"]
    assert endpoint.hosts == "a:4222,nats://b:4222"
    assert "hidden" not in repr(endpoint)


@pytest.mark.parametrize(
    ("url", "user", "login"),
    [
        ("nats://a:4222", None, (None, None)),
        ("nats://a:4222", "me", ("me", "mine")),
        ("nats://x:y@a:4222", "me", ("me", "mine")),
        ("nats://x%40:y%25@a:4222", None, ("x@", "y%")),
        ("nats://a:4222,nats://x:y@b:4222", None, ("x", "y")),
        ("nats://token@a:4222", None, (None, None)),
    ],
)
def test_who_we_are_is_told_by_settings_before_the_url(
    url: str, user: str | None, login: tuple[str | None, str | None]
) -> None:
    assert Endpoint(url, "test", user, "mine" if user else None).login == login
