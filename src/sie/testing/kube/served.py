"""How do clients of every language reach the double? A real HTTP server on a free loopback port, for as long as a
block.
"""

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import trio

from sie.testing.kube.double import KubeDouble
from sie.testing.kube.model import KubeModel
from sie.web.server import serve_hypercorn

HOST = "127.0.0.1"


@attrs.frozen
class Served:
    url: str
    double: KubeDouble

    @property
    def model(self) -> KubeModel:
        return self.double.model


def new_double(seed: int = 0, *, bookmark_s: float = 30.0) -> KubeDouble:
    """For real time."""
    return KubeDouble(KubeModel(time.time, random.Random(seed)), bookmark_s)


@asynccontextmanager
async def open_kube_double(double: KubeDouble | None = None) -> AsyncIterator[Served]:
    served = double or new_double()
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        url: str = await nursery.start(partial(serve_hypercorn, served, host=HOST, port=0, stop=stop))
        try:
            yield Served(url, served)
        finally:
            nursery.cancel_scope.cancel()
