"""The name given in the settings is the one that the broker sees."""

import pytest

from sie.bus.urls import with_credentials


@pytest.mark.parametrize(
    ("url", "user", "password", "wanted"),
    [
        ("nats://host:4222", None, None, "nats://host:4222"),
        ("nats://old:word@host:4222", None, "x", "nats://old:word@host:4222"),
        ("nats://old:word@host:4222", "me", "p@ss/word", "nats://me:p%40ss%2Fword@host:4222"),
        ("tls://host", "me", None, "tls://me@host"),
    ],
)
def test_settings_win_over_the_url(url: str, user: str | None, password: str | None, wanted: str) -> None:
    assert with_credentials(url, user, password) == wanted
