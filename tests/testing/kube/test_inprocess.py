"""Calling an application without sockets: a stream arrives piece by piece, and each side learns that the other left."""

import httpx2
import pytest
import trio
from trio.testing import MockClock

from sie.testing.kube.contract import config_map
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.faults import LoseAnswer
from sie.testing.kube.inprocess import InProcess
from sie.testing.kube.resources import CONFIG_MAPS

MAPS = "/api/v1/namespaces/default/configmaps"


async def test_an_event_arrives_while_the_watch_goes_on(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    async with http.stream("GET", MAPS, params={"watch": "1", "resourceVersion": "7"}) as response:
        double.model.create(CONFIG_MAPS, "default", config_map("a"))
        seen = b""
        with pytest.raises(httpx2.ReadError):  # noqa: PT012  # the error comes out of the iteration
            async for piece in response.aiter_raw():
                seen += piece
                if seen.endswith(b"\n"):
                    assert double.watches == 1
                    double.cut_watches()
    assert seen.startswith(b'{"type": "ADDED"')
    assert double.watches == 0


async def test_a_client_that_leaves_ends_its_watch(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    async with http.stream("GET", MAPS, params={"watch": "1"}):
        assert double.watches == 1
    await trio.testing.wait_all_tasks_blocked()
    assert double.watches == 0


async def test_a_connection_without_an_answer_is_an_error(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    double.faults.add(LoseAnswer())
    with pytest.raises(httpx2.ReadError):
        await http.get(MAPS)


async def test_a_server_that_dies_takes_its_requests_with_it(double: KubeDouble) -> None:
    async with (
        trio.open_nursery() as server,
        httpx2.AsyncClient(base_url="http://kube", transport=InProcess(double, server)) as client,
        client.stream("GET", MAPS, params={"watch": "1"}) as response,
    ):
        server.cancel_scope.cancel()
        with trio.CancelScope(shield=True), pytest.raises(httpx2.ReadError):
            await response.aread()


async def test_nothing_passes_a_block(double: KubeDouble, autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as server:
        transport = InProcess(double, server, blocked=True)
        async with httpx2.AsyncClient(base_url="http://kube", transport=transport) as client:
            with trio.move_on_after(100) as scope:
                await client.get(MAPS)
        assert scope.cancelled_caught
        assert not double.asked
