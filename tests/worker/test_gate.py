"""The poll of the gateway's pools (§16.3): what is asked, how often and what is said; each failure is told as one.

The table of verdicts stands here too; `property_tests/worker/core/test_gate.py` has the rules for any pools.
"""

import json
import logging
import random
from collections.abc import AsyncIterator, Callable

import attrs
import httpx2
import pytest
import trio
from trio.testing import MockClock

from sie.domain.ids import PoolName
from sie.domain.lane import Lane
from sie.runtime.service import running
from sie.wire.pool_listing import ListedPool
from sie.worker import gate as polling
from sie.worker.core.gate import TRUST_S, Admitted, Gate, NotAssigned, Unknown
from sie.worker.gate import CALL_TIMEOUT_S, JITTER, LEAST_S, MAX_BYTES, POLL_S, GatePoll, PoolsUnread, open_http_pools
from tests.worker.doubles import LANE, WORKER
from tests.worker.stage import ScriptedPools

Answer = Callable[[httpx2.Request], httpx2.Response]
STATUS = {"state": "active", "assigned_workers": [{"name": WORKER, "url": "", "gpu": "default", "bundle": "default"}]}
BODY = {"pools": [{"name": "acme", "spec": {"name": "acme", "gpu_caps": {"default": 1}}, "status": STATUS}]}
OURS = ListedPool("acme", workers=frozenset({WORKER}), caps={"default": 1})
THEIRS = ListedPool("acme", workers=frozenset({"w2"}), caps={"default": 1})
STATIC = Lane(PoolName("static"), LANE.machine_profile, LANE.bundle)
FREE, CAPPED = ListedPool("static", "static"), ListedPool("static", "static", {"default": 1}, frozenset({"w2"}))


@pytest.mark.parametrize(
    ("lane", "pools", "age_s", "admission_pool", "verdict"),
    [
        (LANE, None, 0, "default", Admitted),
        (LANE, None, 0, "", Admitted),
        (LANE, None, 0, "acme", Unknown),
        (LANE, (), 0, "acme", Unknown),
        (LANE, (OURS,), 0, "acme", Admitted),
        (LANE, (OURS,), TRUST_S, "acme", Admitted),
        (LANE, (OURS,), TRUST_S + 1, "acme", Unknown),
        (LANE, (OURS,), 1e9, "default", Admitted),
        (LANE, (THEIRS,), 0, "acme", NotAssigned),
        (LANE, (ListedPool("acme"),), 0, "acme", NotAssigned),
        (STATIC, None, 0, "static", Unknown),
        (STATIC, (), 0, "static", Unknown),
        (STATIC, (FREE,), 1e9, "static", Admitted),
        (STATIC, (CAPPED,), 0, "static", NotAssigned),
        (STATIC, (attrs.evolve(CAPPED, workers=frozenset({WORKER})),), 0, "static", Admitted),
        (STATIC, (attrs.evolve(CAPPED, workers=frozenset({WORKER})),), TRUST_S + 1, "static", Unknown),
        (STATIC, (attrs.evolve(CAPPED, caps={"a100": 1}),), 0, "static", Admitted),
        (STATIC, (FREE, OURS), 0, "default", Unknown),
        (STATIC, None, 0, "default", Admitted),
    ],
)
def test_the_table_of_verdicts(
    lane: Lane, pools: tuple[ListedPool, ...] | None, age_s: float, admission_pool: str, verdict: type
) -> None:
    gate = Gate(WORKER, lane, is_polled=True)
    if pools is not None:
        gate.receive(pools, now_s=100.0)
    assert isinstance(gate.judge(admission_pool, now_s=100.0 + age_s), verdict)


async def read(answer: Answer, *, token: str | None = None, max_bytes: int = MAX_BYTES) -> tuple[ListedPool, ...]:
    transport = httpx2.MockTransport(answer)
    async with open_http_pools("http://gateway:8080", token, transport=transport, max_bytes=max_bytes) as pools:
        return await pools.read_pools()


async def test_all_pools_are_asked_for_with_the_token_where_there_is_one() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json=BODY)

    assert await read(answer) == await read(answer, token="inference") == (OURS,)
    assert {(request.method, str(request.url)) for request in asked} == {("GET", "http://gateway:8080/v1/pools")}
    assert [request.headers.get("authorization") for request in asked] == [None, "Bearer inference"]


def refused(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("connection refused", request=request)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refused, "connection refused"),
        (lambda _: httpx2.Response(401), "401"),
        (lambda _: httpx2.Response(404, json={"detail": "no"}), "404"),
        (lambda _: httpx2.Response(302, headers={"location": "http://elsewhere"}), "302"),
        (lambda _: httpx2.Response(200, content=b"<html>"), "JSON"),
        (lambda _: httpx2.Response(200, json={"pools": [{"spec": {}}]}), "pools.0"),
        (lambda _: httpx2.Response(200, content=b"[" * 100_000), "JSON"),
    ],
)
async def test_whatever_else_comes_is_told_as_pools_that_could_not_be_read(answer: Answer, words: str) -> None:
    with pytest.raises(PoolsUnread, match=words):
        await read(answer)


async def test_an_answer_beyond_the_bound_is_left_where_it_is() -> None:
    body = json.dumps(BODY).encode()
    assert await read(lambda _: httpx2.Response(200, content=body), max_bytes=len(body)) == (OURS,)
    with pytest.raises(PoolsUnread, match=f"more than {len(body) - 1} bytes"):
        await read(lambda _: httpx2.Response(200, content=body), max_bytes=len(body) - 1)


async def test_an_answer_that_trickles_in_is_given_up(autojump_clock: MockClock) -> None:
    async def trickle() -> AsyncIterator[bytes]:
        while True:
            await trio.sleep(1)
            yield b" "

    began_s = trio.current_time()
    with pytest.raises(PoolsUnread, match="TooSlowError"):
        await read(lambda _: httpx2.Response(200, content=trickle()))
    assert trio.current_time() - began_s == pytest.approx(CALL_TIMEOUT_S)


def poll_of(pools: ScriptedPools) -> GatePoll:
    return GatePoll(pools, Gate(WORKER, LANE, is_polled=True), random.Random(1), lambda: None)


async def test_pools_are_read_at_once_and_then_about_every_ten_seconds(autojump_clock: MockClock) -> None:
    pools = ScriptedPools()
    async with running(poll_of(pools).poll_forever):
        await trio.sleep(20 * POLL_S)
    first, *_ = pools.reads_s
    gaps = [later - earlier for earlier, later in zip(pools.reads_s, pools.reads_s[1:], strict=False)]
    assert first == 0.0
    assert all(POLL_S * (1 - JITTER) <= gap <= POLL_S for gap in gaps)
    assert len(set(gaps)) > 10, "gateways would be asked in step"


async def test_who_asks_for_it_hears_sooner_and_never_more_than_once_a_second(autojump_clock: MockClock) -> None:
    pools = ScriptedPools()
    poll = poll_of(pools)
    async with running(poll.poll_forever):
        for _ in range(1000):
            poll.ask_soon()
            await trio.sleep(0.01)
    gaps = [later - earlier for earlier, later in zip(pools.reads_s, pools.reads_s[1:], strict=False)]
    assert len(gaps) >= 9
    assert min(gaps) >= LEAST_S - 1e-9


async def test_a_reading_is_as_old_as_its_question(autojump_clock: MockClock) -> None:
    class Slow(ScriptedPools):
        async def read_pools(self) -> tuple[ListedPool, ...]:
            await trio.sleep(4)
            return (OURS,)

    poll = poll_of(Slow())
    await poll.poll_once()
    assert isinstance(poll.gate.judge("acme", now_s=TRUST_S), Admitted)
    assert isinstance(poll.gate.judge("acme", now_s=TRUST_S + 1), Unknown)


async def test_a_gateway_that_is_away_is_said_once_and_so_is_its_return(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger=polling.log.name)
    pools = ScriptedPools(is_away=True)
    async with running(poll_of(pools).poll_forever):
        await trio.sleep(100 * POLL_S)
        pools.is_away = False
        await trio.sleep(10 * POLL_S)
    assert [record.getMessage() for record in caplog.records] == [
        "the gateway's pools cannot be read",
        "the gateway's pools can be read again",
    ]
