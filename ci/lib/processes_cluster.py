"""The real processes of `ci/simulate --processes`: those of `sie up` with two workers, each killed and started at will.

Whatever ends without having been killed is started again, as a supervisor would, and counted.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, NoReturn

import attrs
import httpx2
import trio

from ci.lib.demo_system import NotReady
from sie.cli.child import Child, start_child
from sie.cli.folders import Folders
from sie.cli.logs import last_lines, log_of
from sie.cli.plan import Plan, Ports, Service, life_id, plan_up
from sie.cli.ports import LOOPBACK, free_ports
from sie.cli.programs import find_programs
from sie.cli.readiness import all_loaded, read_workers
from sie.cli.settings import UpSettings

Storage = Literal["file", "memory"]

WORKERS = ("worker-a", "worker-b")
REQUEST_TIMEOUT_S = 10
READY_S = 180.0
NOTHING: Mapping[str, str] = {}
LOOK_S = 0.2
ASK_S = 10.0


@attrs.define(eq=False)
class Cluster:
    """`workers` are names of services, `lives` counts starts, `ended` what ended by itself. `monitor` is the broker's
    own port for looking at it.
    """

    plan: Plan
    monitor: int
    workers: tuple[str, ...] = WORKERS
    running: dict[str, Child] = attrs.field(factory=dict)
    lives: Counter[str] = attrs.field(factory=Counter)
    ended: Counter[str] = attrs.field(factory=Counter)

    @property
    def gateway_port(self) -> int:
        return self.plan.ports.gateway

    def start(self, name: str) -> None:
        service = self._service(name)
        self.lives[name] += 1
        log = log_of(self.plan.logs, name)
        self.running[name] = start_child(service.argv, service.environ_of(self.lives[name]), log)

    async def kill(self, name: str) -> None:
        """kill -9 of it and all that it started. It stays away until it is started."""
        await trio.to_thread.run_sync(self.running.pop(name).reap)

    async def stop(self, name: str, child: Child) -> int | None:
        """SIGTERM to what runs, or ran, under this name. Its exit code; None where it took longer than its grace, and
        was killed. Nothing is started for it.
        """
        if self.running.get(name) is child:
            del self.running[name]
        child.terminate()
        with trio.move_on_after(self._service(name).grace_s):
            while (code := child.poll()) is None:  # noqa: ASYNC110 - a process, which has no event for us
                await trio.sleep(LOOK_S)
            return code
        child.kill()
        child.reap()
        return None

    def life(self, name: str) -> str:
        """What a worker calls itself in the life that it has now."""
        return life_id(name, self.lives[name])

    def backends(self, worker: str) -> list[int]:
        """Its children; none where it is away, or has just come."""
        return children_of(self.running[worker].pid) if worker in self.running else []

    def kill_backend(self, worker: str) -> int:
        """kill -9 of its child alone. How many there were."""
        children = self.backends(worker)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return len(children)

    def gateway_life(self) -> int | None:
        """Its number; None while it is away."""
        return self.lives["gateway"] if "gateway" in self.running else None

    async def keep_forever(self) -> NoReturn:
        while True:
            await trio.sleep(LOOK_S)
            for name in [name for name, child in self.running.items() if child.poll() is not None]:
                self.ended[name] += 1
                self.start(name)

    def end(self) -> None:
        for child in self.running.values():
            child.kill()
        for child in self.running.values():
            child.reap()

    def _service(self, name: str) -> Service:
        return next(service for service in self.plan.services if service.name == name)

    async def ready(self) -> None:
        """Returns when all workers have their models and the gateway knows it. Raises NotReady."""
        with trio.move_on_after(READY_S):
            while not await self._serves():  # noqa: ASYNC110 - processes, which have no event for us
                await trio.sleep(LOOK_S)
            return
        said = {service.name: last_lines(log_of(self.plan.logs, service.name), 5) for service in self.plan.services}
        raise NotReady(f"not within {READY_S:g} s; the last lines of each: {said}")

    async def _serves(self) -> bool:
        models = await self.get("/v1/models")
        return len(await self.healthy()) == len(self.workers) and all_loaded(models, self.plan.models)

    async def healthy(self) -> frozenset[str]:
        """The workers that take work, by what they call themselves."""
        return frozenset(worker.name for worker in read_workers(await self.get("/health")) if worker.healthy)

    async def get(self, path: str) -> bytes | None:
        """From the gateway; None while it does not answer."""
        return await looked_at(f"{self.plan.gateway_url}{path}")

    async def broker_view(self) -> bytes | None:
        return await looked_at(f"http://{LOOPBACK}:{self.monitor}/jsz?streams=true&consumers=true")


async def looked_at(address: str) -> bytes | None:
    try:
        async with httpx2.AsyncClient(timeout=ASK_S, trust_env=False) as client:
            return (await client.get(address)).content
    except httpx2.TransportError:
        return None


@asynccontextmanager
async def running_cluster(folder: Path, cache: Path, storage: Storage) -> AsyncIterator[Cluster]:
    """Its logs and streams are in `folder`. Raises NotReady."""
    folders = Folders(folder, cache)
    folders.make()
    async with running(plan_cluster(folders, storage, os.environ)) as cluster:
        yield cluster


@asynccontextmanager
async def running(cluster: Cluster) -> AsyncIterator[Cluster]:
    """Raises NotReady."""
    try:
        for service in cluster.plan.services:
            cluster.start(service.name)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cluster.keep_forever)
            await cluster.ready()
            yield cluster
            nursery.cancel_scope.cancel()
    finally:
        cluster.end()


def plan_cluster(folders: Folders, storage: Storage, environ: Mapping[str, str]) -> Cluster:
    """As `sie up`, but for the storage of work, the time that requests have, and the second worker."""
    own = {"SIE_STREAM_STORAGE": storage, "SIE_GATEWAY_REQUEST_TIMEOUT": str(REQUEST_TIMEOUT_S)}
    return planned(UpSettings(), folders, {**without_ours(environ), **own}, dict.fromkeys(WORKERS, NOTHING))


def without_ours(environ: Mapping[str, str]) -> Mapping[str, str]:
    """What is set on this machine for services is not meant for these."""
    return {name: value for name, value in environ.items() if not name.startswith("SIE_")}


def planned(
    settings: UpSettings, folders: Folders, environ: Mapping[str, str], workers: Mapping[str, Mapping[str, str]]
) -> Cluster:
    """As `sie up`, but for the workers: each has variables of its own beside those of all."""
    *ports, monitor = free_ports(4)
    programs = find_programs(sys.executable, environ.get("PATH", os.defpath))
    up = plan_up(settings, folders, Ports(*ports), programs, environ)
    return Cluster(attrs.evolve(up, services=tuple(_services(up, monitor, workers))), monitor, tuple(workers))


def _services(up: Plan, monitor: int, workers: Mapping[str, Mapping[str, str]]) -> Iterator[Service]:
    for service in up.services:
        match service.name:
            case "worker":
                for name, own in workers.items():
                    yield attrs.evolve(service, name=name, environ={**service.environ, **own})
            case "nats":
                yield attrs.evolve(service, argv=(*service.argv, "-m", str(monitor)))
            case _:
                yield service


def children_of(parent: int) -> list[int]:
    """The processes that it started, as /proc has them."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _parent(entry) == parent]


def _parent(process: Path) -> int | None:
    try:
        fields = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]) if fields[0] != "Z" else None
