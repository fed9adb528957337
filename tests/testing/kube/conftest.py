"""What tests of the double share."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from sie.runtime.world import RunInThread

T = TypeVar("T")


@pytest.fixture
def in_place() -> RunInThread:
    async def run(work: Callable[[], T], /) -> T:
        return work()

    return run
