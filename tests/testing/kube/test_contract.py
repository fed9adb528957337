"""The API double keeps its contract: over a real port and in process, for our client and for plain HTTP.

`ci/compat kube` asks kubectl and lightkube too.
"""

from collections.abc import Awaitable, Callable

import httpx2
import pytest
import trio

from sie.kube.access import Access
from sie.kube.client import open_kube
from sie.runtime.world import RunInThread
from sie.testing.kube.contract import CHECKS, Driver
from sie.testing.kube.drivers import OurDriver, PlainDriver
from sie.testing.kube.inprocess import InProcess
from sie.testing.kube.served import new_double, open_kube_double

Check = Callable[[Driver], Awaitable[None]]
each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@each_check
async def test_our_client_passes_over_a_port(check: Check, in_place: RunInThread) -> None:
    async with open_kube_double() as served, open_kube(Access(served.url), run_in_thread=in_place) as kube:
        await check(OurDriver(kube))


@each_check
async def test_our_client_passes_in_process(check: Check, in_place: RunInThread) -> None:
    async with trio.open_nursery() as nursery:
        transport = InProcess(new_double(), nursery)
        async with open_kube(Access("http://kube"), run_in_thread=in_place, transport=transport) as kube:
            await check(OurDriver(kube))
        nursery.cancel_scope.cancel()


@each_check
async def test_plain_http_passes(check: Check) -> None:
    async with open_kube_double() as served, httpx2.AsyncClient(base_url=served.url, trust_env=False) as http:
        await check(PlainDriver(http))
