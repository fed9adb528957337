"""What a gateway must not do: each function stands in for a right one while a mutant is on."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import attrs
from msgspec.structs import replace

from sie.authority.client import Authority, AuthorityError
from sie.authority.snapshot import Assembled, assemble
from sie.bus.api import Message, Replies
from sie.bus.outbox import COMMAND_OVERHEAD_BYTES, Outbox, Publish
from sie.domain.bundle import Bundle
from sie.domain.bundle_hash import BundleHash
from sie.domain.hash_form import HashForm
from sie.domain.ids import BundleName, MachineProfile, PoolName, RequestId
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.gateway.core.chunks import RequestChunks
from sie.gateway.core.collect import Collected, Collector
from sie.gateway.core.fleet import Fleet
from sie.gateway.core.lane_book import Wanted
from sie.gateway.dispatch.acks import Acks
from sie.gateway.dispatch.dispatcher import Dispatcher
from sie.gateway.dispatch.inbox import Inbox
from sie.gateway.dispatch.pending import Pending, Waiting
from sie.gateway.http.inference import Operation, infer
from sie.gateway.http.services import Services
from sie.gateway.sync import bootstrap
from sie.web.routes import Reply, Request
from sie.wire.configs_api import ExportReply
from sie.wire.result import WorkResult, decode_result
from sie.wire.result_chunk import Reply as Arrival

RIGHT_INFER = infer


@contextmanager
def never_removed(self: Pending, request: RequestId, total: int) -> Iterator[Waiting]:
    waiting = Waiting(Collector(request, total, RequestChunks(request, total, self.memory)))
    self._waiting[request] = waiting
    yield waiting


def by_arrival(self: Collector, result: Arrival) -> bool:
    if self.ending is None and isinstance(result, WorkResult) and result.request_id == self.request_id:
        self._results[len(self._results)] = result
        if len(self._results) == self.total:
            self.ending = Collected(tuple(self._results[index] for index in range(self.total)))
    return self.ending is not None


def to_anybody(self: Inbox, message: Message) -> None:
    waiting = next(iter(self.pending._waiting.values()), None)
    if waiting is not None:
        waiting.receive(attrs.evolve(decode_result(message.data), request_id=waiting.collector.request_id))


@contextmanager
def keeps_listening(bus: Replies, acks: Acks) -> Iterator[str]:
    yield bus.correlate(partial(acks.receive, None)).subject


async def gives_up(syncing: bootstrap.Syncing, authority: Authority) -> None:
    try:
        await bootstrap.catch_up(syncing, authority)
    except AuthorityError:
        return


def for_ever(_: Dispatcher, began_s: float) -> float:
    return math.inf


def forgets_one(bundles: Iterable[Bundle], export: ExportReply, before: RegistrySnapshot, form: HashForm) -> Assembled:
    return assemble(bundles, attrs.evolve(export, models=export.models[:-1]), before, form)


async def does_not_say_when(services: Services, operation: Operation, request: Request) -> Reply:
    reply = await RIGHT_INFER(services, operation, request)
    return replace(reply, headers=tuple(row for row in reply.headers if row[0].lower() != "retry-after"))


def never_stale(self: Fleet, now_s: float) -> Iterator[WorkerStatus]:
    return (self._seen[worker].status for worker in sorted(self._seen))


def any_configuration(pool: PoolName, bundle: BundleName, profile: MachineProfile | None, _: BundleHash) -> Wanted:
    return Wanted(pool, bundle, profile, None)


def takes_anything(self: Outbox, command: Publish) -> None:
    self._held_bytes += command.size_bytes + COMMAND_OVERHEAD_BYTES
    self._put(command)
