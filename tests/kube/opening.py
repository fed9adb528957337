"""Our client on a double in process, so that a test's clock may jump."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TypeVar

import attrs
import trio

from sie.kube.access import Access
from sie.kube.api import Kube
from sie.kube.client import open_kube
from sie.kube.core.values import ConfigMap, Metadata
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.inprocess import InProcess
from sie.testing.kube.model import KubeModel

T = TypeVar("T")


async def in_place(work: Callable[[], T], /) -> T:
    return work()


@attrs.frozen
class Opened:
    kube: Kube
    double: KubeDouble


@asynccontextmanager
async def opened(*, token_file: Path | None = None, token: str | None = None) -> AsyncIterator[Opened]:
    double = KubeDouble(KubeModel(lambda: 1_000_000.0, Random(0)))
    access = Access("http://kube", token=token, token_file=token_file)
    async with trio.open_nursery() as nursery:
        transport = InProcess(double, nursery)
        async with open_kube(access, run_in_thread=in_place, transport=transport) as kube:
            yield Opened(kube, double)
        nursery.cancel_scope.cancel()


def named(name: str, **data: str) -> ConfigMap:
    return ConfigMap(Metadata(name), data)
