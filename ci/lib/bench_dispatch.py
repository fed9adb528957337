"""Does a request cost the gateway as little as it should (`ci/bench dispatch`)?

On a real broker with a worker that answers at once, two items a request: CPU beside a lean gateway of uvicorn,
Starlette and nats-py that does the same; what 4,096 items take in memory and time; what stays after many requests.
"""

from collections.abc import Iterator, Mapping
from statistics import median

import attrs
import trio

from ci.lib.bench_dispatch_facts import small
from ci.lib.bench_dispatch_load import ask, get
from ci.lib.bench_dispatch_processes import Ours, broker_and_worker, our_gateway, reference_gateway
from ci.lib.bench_figure import Figure
from ci.lib.demo_system import NotReady

CPU_LIMIT = 1.1
PEAK_LIMIT = 6.0
P50_LIMIT = 1.3
OBJECTS_LIMIT = 1.01
MEMORY_LIMIT = 1.05
KINDS = ("msgpack", "json")
WIDTH = 32
MIXED_WIDTH = 64
MIXED_TIMEOUT_S = 0.5
RUNS = 3
FOLD = 10
"""How many times as many requests come before the second look as before the first."""
WARM = 500
ROUND_S = 6.0
"""A gateway's round of its pools is every 5 s."""


@attrs.frozen
class Counts:
    """Of requests; for what stays, those before the first look."""

    cpu: int = 5_000
    objects: int = 10_000
    memory: int = 20_000
    bulks: int = 9


QUICK = Counts(cpu=1_500, objects=1_000, memory=2_000, bulks=5)


def dispatch(quick: bool) -> Iterator[Figure]:
    counts = QUICK if quick else Counts()
    for kind in KINDS:
        yield trio.run(cpu_figure, kind, counts)
    for kind in KINDS:
        yield trio.run(peak_figure, kind)
    yield trio.run(p50_figure, counts)
    yield trio.run(objects_figure, counts)
    yield trio.run(memory_figure, counts)


async def cpu_figure(kind: str, counts: Counts) -> Figure:
    """By process time, so that what else the machine does counts for neither.

    Ours is asked as a server of ours would, which tells who leaves, and beside that as any other server would, whose
    disconnect a task of its own has to wait for (`ours_watching_us`). The reference does not look at who leaves.
    """
    taken: list[tuple[float, float, float]] = []
    async with broker_and_worker() as url, our_gateway(url) as ours, reference_gateway(url) as port:
        await _ours_us(ours, kind, WARM)
        await _reference_us(port, kind, WARM)
        for _ in range(RUNS):
            us, reference_us = await _ours_us(ours, kind, counts.cpu), await _reference_us(port, kind, counts.cpu)
            taken.append((us, reference_us, await _ours_us(ours, kind, counts.cpu, tells=False)))
    us, reference_us, watching_us = (min(runs) for runs in zip(*taken, strict=True))
    details = {
        "of": "the best of each",
        "ours_us": round(us, 1),
        "reference_us": round(reference_us, 1),
        "ours_watching_us": round(watching_us, 1),
        "runs": [[round(one, 1) for one in run] for run in taken],
        "width": WIDTH,
        "requests": counts.cpu,
    }
    return Figure("dispatch", f"request_cpu_{kind}", us / reference_us, CPU_LIMIT, "of the reference", details)


async def _ours_us(ours: Ours, kind: str, count: int, *, tells: bool = True) -> float:
    told = await ours.do("ask", kind=kind, count=count, width=WIDTH, tells=tells)
    if told["statuses"] != {"200": count}:
        raise NotReady(f"our gateway answered {told['statuses']}")
    return 1e6 * _number(told, "cpu_s") / count


async def _reference_us(port: int, kind: str, count: int) -> float:
    before_s = float(await get(port, "/cpu"))
    await ask(port, small(kind), count, WIDTH)
    return 1e6 * (float(await get(port, "/cpu")) - before_s) / count


async def peak_figure(kind: str) -> Figure:
    """In a process that has seen one small request, so that nothing lies ready."""
    async with broker_and_worker() as url, our_gateway(url) as ours:
        told = _succeeded(await ours.do("bulk", kind=kind))
    share = _number(told, "peak_bytes") / _number(told, "reply_bytes")
    return Figure("dispatch", f"bulk_peak_memory_{kind}", share, PEAK_LIMIT, "of the reply", told)


async def p50_figure(counts: Counts) -> Figure:
    """Each request beside a bare loop, one after the other; the best turn of three."""
    async with broker_and_worker() as url, our_gateway(url) as ours:
        turns = [await _bulk_turn(ours, counts.bulks) for _ in range(RUNS)]
    share = min(median(taken) / median(bare) for taken, bare in turns)
    details = {"of": "the best", "runs_s": [[[round(s, 3) for s in one] for one in turn] for turn in turns]}
    return Figure("dispatch", "bulk_p50", share, P50_LIMIT, "of a bare loop", details)


async def _bulk_turn(ours: Ours, count: int) -> tuple[list[float], list[float]]:
    taken, bare = list[float](), list[float]()
    for _ in range(count):
        taken.append(_number(_succeeded(await ours.do("bulk", kind="msgpack")), "s"))
        bare.append(_number(await ours.do("bare"), "s"))
    return taken, bare


async def objects_figure(counts: Counts) -> Figure:
    async with broker_and_worker() as url, our_gateway(url) as ours:
        looks = await _looks(ours, counts.objects, "msgpack", WIDTH)
    return _stays("live_objects", "objects", looks, OBJECTS_LIMIT, counts.objects)


async def memory_figure(counts: Counts) -> Figure:
    """Of every 40 requests one client leaves, one is not answered in time, and one is answered in chunks."""
    async with broker_and_worker() as url, our_gateway(url, timeout_s=MIXED_TIMEOUT_S) as ours:
        looks = await _looks(ours, counts.memory, "mixed", MIXED_WIDTH)
    return _stays("memory_after_mixed", "resident_bytes", looks, MEMORY_LIMIT, counts.memory)


Look = Mapping[str, Mapping[str, object]]


async def _looks(ours: Ours, count: int, kind: str, width: int) -> list[Look]:
    """What is made once, for the first request, the first look or in the first round of duties, is there before."""
    looks: list[Look] = []
    await ours.do("ask", kind=kind, count=WARM, width=width, tells=True)
    await ours.do("memory")
    await trio.sleep(ROUND_S)
    for more in (count, count * (FOLD - 1)):
        asked = await ours.do("ask", kind=kind, count=more, width=width, tells=True)
        looks.append({"asked": asked, "memory": await ours.do("memory")})
    return looks


def _stays(name: str, what: str, looks: list[Look], limit: float, count: int) -> Figure:
    first, second = (_number(look["memory"], what) for look in looks)
    details = {
        "after": [count, FOLD * count],
        what: [first, second],
        "unfrozen": [look["memory"]["unfrozen"] for look in looks],
        "statuses": [look["asked"]["statuses"] for look in looks],
    }
    return Figure("dispatch", name, second / first, limit, "of the first look", details)


def _succeeded(told: Mapping[str, object]) -> Mapping[str, object]:
    if told["status"] != 200:
        raise NotReady(f"a large request was answered with {told['status']}")
    return told


def _number(told: Mapping[str, object], name: str) -> float:
    value = told[name]
    assert isinstance(value, int | float)
    return value
