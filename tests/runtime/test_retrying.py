"""The reference's own backoff (§4.1): 1 s, doubling to 60 s."""

from itertools import islice

from sie.runtime.retrying import Backoff


def test_the_default_doubles_from_one_second_to_a_minute() -> None:
    assert list(islice(Backoff().delays(), 9)) == [1, 2, 4, 8, 16, 32, 60, 60, 60]
