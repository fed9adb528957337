"""What tests of the double share: work in place, and the double in process with plain HTTP before it."""

from collections.abc import AsyncIterator, Callable
from random import Random
from typing import TypeVar

import httpx2
import pytest
import trio

from sie.runtime.world import RunInThread
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.inprocess import InProcess
from sie.testing.kube.model import KubeModel

T = TypeVar("T")


@pytest.fixture
def in_place() -> RunInThread:
    async def run(work: Callable[[], T], /) -> T:
        return work()

    return run


@pytest.fixture
def double() -> KubeDouble:
    return KubeDouble(KubeModel(lambda: 1_000_000.0, Random(0)))


@pytest.fixture
async def http(double: KubeDouble) -> AsyncIterator[httpx2.AsyncClient]:
    async with trio.open_nursery() as nursery:
        async with httpx2.AsyncClient(base_url="http://kube", transport=InProcess(double, nursery)) as client:
            yield client
        nursery.cancel_scope.cancel()
