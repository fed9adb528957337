"""What goes wrong with following the authority: deltas lost, twice, late, out of order, forged; the authority away."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Literal

import attrs
import trio
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.bus.api import Handler, Message
from sie.domain.subjects import CONFIG_ALL
from sie.testing.cluster.catalogue import ASIDE, SIDE, SIDE_TOO, SMALL, document
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.replica_rules import FORGED_EPOCH, STRANGE_EPOCH, STRANGE_MODEL
from sie.testing.cluster.tapped import Detour
from sie.testing.faults_kind import Fault
from sie.wire.notification import ConfigNotification, encode_notification

STRANGER = "sie-configuration"
"""No pod of the trusted name, though it begins like one."""
TRUSTED = "sie-config-7"


@attrs.frozen
class DeltasLost:
    gateway: int
    count: int

    async def begin(self, cluster: Cluster) -> None:
        if (life := cluster.gateway(self.gateway).process.life) is not None:
            life.tap.lose(CONFIG_ALL, self.count)


def _detour(cluster: Cluster, gateway: int, *detours: Detour) -> None:
    if (life := cluster.gateway(gateway).process.life) is not None:
        life.tap.turn(CONFIG_ALL, detours)


def _later(cluster: Cluster, in_s: float, do: Callable[[], None]) -> None:
    """What is still under way when all is healed comes then: a replica has its time to get over it."""

    async def do_later() -> None:
        with trio.move_on_after(in_s):
            await cluster.healed.wait()
        do()

    cluster.nursery.start_soon(do_later)


@attrs.frozen
class DeltasRepeated:
    """Each of the next ones comes at once, and again later."""

    gateway: int
    count: int
    later_s: float

    async def begin(self, cluster: Cluster) -> None:
        def twice(message: Message, deliver: Handler) -> None:
            deliver(message)
            _later(cluster, self.later_s, partial(deliver, message))

        _detour(cluster, self.gateway, *(twice,) * self.count)


@attrs.frozen
class DeltasDelayed:
    gateway: int
    count: int
    by_s: float

    async def begin(self, cluster: Cluster) -> None:
        def late(message: Message, deliver: Handler) -> None:
            _later(cluster, self.by_s, partial(deliver, message))

        _detour(cluster, self.gateway, *(late,) * self.count)


@attrs.frozen
class DeltasReordered:
    """The next two to four come the last one first, or after a while those that there are."""

    gateway: int
    count: int

    async def begin(self, cluster: Cluster) -> None:
        held = deque[Message]()

        def release(deliver: Handler) -> None:
            while held:
                deliver(held.pop())

        def hold(message: Message, deliver: Handler) -> None:
            held.append(message)
            _later(cluster, 20.0, partial(release, deliver))

        def last(message: Message, deliver: Handler) -> None:
            deliver(message)
            release(deliver)

        _detour(cluster, self.gateway, *(hold,) * (self.count - 1), last)


@attrs.frozen
class StrangerTells:
    """A delta of somebody who is not trusted, to every gateway."""

    what: Literal["model", "epoch"]

    async def begin(self, cluster: Cluster) -> None:
        _tell(cluster, STRANGER, STRANGE_EPOCH, document(STRANGE_MODEL) if self.what == "model" else "")
        await _look_around(cluster)


@attrs.frozen
class ForgerTells:
    """A delta in a trusted name that the config service never sent, to every gateway."""

    what: Literal["epoch", "model", "profile", "conflict", "garbage", "replay"]
    model: str

    async def begin(self, cluster: Cluster) -> None:
        history = cluster.rules.history
        epoch = history.epoch + 1 if self.what == "profile" else FORGED_EPOCH + len(cluster.log)
        if self.what == "replay":
            epoch = max(1, history.epoch)
        cluster.changed.begin()
        for gateway in cluster.gateways:
            gateway.facts.forged_s = trio.current_time()
        _tell(cluster, TRUSTED, epoch, _forged(self.what, self.model))
        await _look_around(cluster)


def _forged(what: str, model: str) -> str:
    match what:
        case "model" | "replay":
            return document("acme/forged")
        case "profile":
            return document(model, "forged")
        case "conflict":
            return document(model).replace("max_batch_tokens: 8", "max_batch_tokens: 11")
        case "garbage":
            return "profiles: ["
        case _:
            return ""


def _tell(cluster: Cluster, producer: str, epoch: int, text: str) -> None:
    told = ConfigNotification(
        router_id=producer, bundle_id="default", epoch=epoch, model_id="acme/forged", model_config=text
    )
    for gateway in cluster.gateways:
        if (life := gateway.process.life) is not None:
            life.tap.inject(Message(CONFIG_ALL, encode_notification(told)))


async def _look_around(cluster: Cluster) -> None:
    await trio.sleep(0.01)
    for gateway in cluster.gateways:
        await cluster.look_at(gateway)


@attrs.frozen
class AuthorityAway:
    """One gateway or worker cannot reach the config service."""

    process: int
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        link = cluster.connected(self.process).link
        link.cut(away=True)
        cluster.later(self.for_s, partial(link.cut, away=False))


@attrs.frozen
class ExportFails:
    """The epoch and the bundles can be read, the next exports cannot."""

    process: int
    times: int

    async def begin(self, cluster: Cluster) -> None:
        cluster.connected(self.process).link.export_errors += self.times


@attrs.frozen
class ExportSpoiled:
    """The next exports that a gateway reads hold a row that it cannot read."""

    gateway: int
    times: int

    async def begin(self, cluster: Cluster) -> None:
        cluster.gateway(self.gateway).link.spoiled += self.times


@attrs.frozen
class WorkersRolledOut:
    """As after a write: every worker that holds an old catalogue is started again, in order."""

    async def begin(self, cluster: Cluster) -> None:
        for worker in cluster.workers:
            if not cluster.is_current(worker):
                cluster.nursery.start_soon(cluster.restart, worker)


_gateways = st.integers(0, 4)
_counts = st.integers(1, 4)
_forgeries = st.sampled_from(("epoch", "model", "profile", "conflict", "garbage", "replay"))
KINDS: tuple[SearchStrategy[Fault], ...] = (
    st.builds(DeltasLost, _gateways, _counts),
    st.builds(DeltasRepeated, _gateways, _counts, st.sampled_from((0.1, 8.0, 45.0))),
    st.builds(DeltasDelayed, _gateways, _counts, st.sampled_from((0.1, 8.0, 45.0))),
    st.builds(DeltasReordered, _gateways, st.integers(2, 4)),
    st.builds(StrangerTells, st.sampled_from(("model", "epoch"))),
    st.builds(ForgerTells, _forgeries, st.sampled_from((SIDE, SIDE_TOO, ASIDE, SMALL))),
    st.builds(AuthorityAway, st.integers(0, 5), st.sampled_from((8.0, 45.0, 300.0))),
    st.builds(ExportFails, st.integers(0, 5), st.integers(1, 3)),
    st.builds(ExportSpoiled, _gateways, st.integers(1, 3)),
    st.builds(WorkersRolledOut),
)
FAULTS: tuple[type[Fault], ...] = (
    DeltasLost,
    DeltasRepeated,
    DeltasDelayed,
    DeltasReordered,
    StrangerTells,
    ForgerTells,
    AuthorityAway,
    ExportFails,
    ExportSpoiled,
    WorkersRolledOut,
)
