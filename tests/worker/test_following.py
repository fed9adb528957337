"""A worker follows the authority (§7): what changed is read and loaded anew, and nothing runs under a hash it left."""

from collections.abc import Mapping

import attrs
import trio
from trio.testing import MockClock

from sie.bus.api import Message
from sie.domain.registry import RegistrySnapshot
from sie.wire.configs_api import EpochReply, ExportReply, ExportRow
from sie.wire.documents import model_of
from sie.wire.ipc import Finished, LoadModel
from tests.worker.doubles import BUNDLE, MODEL, OTHER, Peer, delivery, model_config, work
from tests.worker.stage import ScriptedAuthority, Stage, until, words_of, worker

NEW = "acme/new"


@attrs.define(eq=False)
class Writable(ScriptedAuthority):
    """Its models can be changed; each change is an epoch."""

    models: dict[str, Mapping[str, object]] = attrs.field(
        factory=lambda: {name: model_config(name) for name in (MODEL, OTHER)}
    )
    epoch: int = 1

    def write(self, name: str, config: Mapping[str, object] | None) -> None:
        self.epoch += 1
        self.models = {key: value for key, value in self.models.items() if key != name}
        if config is not None:
            self.models[name] = config

    @property
    def snapshot(self) -> RegistrySnapshot:
        return RegistrySnapshot.of([BUNDLE], map(model_of, self.models.values()))

    async def read_epoch(self) -> EpochReply:
        return EpochReply(epoch=self.epoch, bundle_config_hashes_hash=self.snapshot.bundle_config_hashes_hash or "")

    async def read_export(self) -> ExportReply:
        rows = tuple(ExportRow(model_id=name, model_config=config) for name, config in self.models.items())
        return ExportReply(epoch=self.epoch, models=rows)


def holds(stage: Stage, authority: Writable) -> bool:
    ours = authority.snapshot.pool_hashes[BUNDLE.name].values()
    return bool(stage.bus.heartbeats()) and stage.status().bundle_config_hash in ours


def tell(stage: Stage) -> None:
    """A delta of the worker's bundle, which says no more than that there is something to read."""
    stage.bus.handlers["sie.config.models.default "](Message("sie.config.models.default", b"{}"))


@attrs.define(eq=False)
class Loads:
    """A backend that loads all it is asked to, and remembers what."""

    asked: list[LoadModel] = attrs.field(factory=list)

    async def __call__(self, peer: Peer) -> None:
        await peer.greet()
        while isinstance(request := await peer.hear(), LoadModel):
            self.asked.append(request)
            await peer.say(Finished(id=request.id))


async def never_load(peer: Peer) -> None:
    await peer.greet()
    await trio.sleep_forever()


async def test_a_write_is_followed_within_a_second_of_its_delta(autojump_clock: MockClock) -> None:
    authority = Writable()
    async with worker(authority=authority) as stage:
        await stage.until_ready()
        before = stage.status().bundle_config_hash
        authority.write(NEW, model_config(NEW))
        await trio.sleep(3)
        tell(stage)
        await trio.sleep(1)
        assert holds(stage, authority)
        assert stage.status().bundle_config_hash != before
        assert NEW in {model.serving_id for model in stage.status().models}


async def test_a_write_whose_delta_is_lost_is_followed_by_the_poll(autojump_clock: MockClock) -> None:
    authority = Writable()
    async with worker(authority=authority) as stage:
        await stage.until_ready()
        authority.write(OTHER, None)
        await trio.sleep(32)
        assert holds(stage, authority)
        assert OTHER not in {model.serving_id for model in stage.status().models}


async def test_a_loaded_model_that_reads_otherwise_is_loaded_again_and_the_others_are_not(
    autojump_clock: MockClock,
) -> None:
    authority, loads = Writable(), Loads()
    async with worker(loads, authority=authority, preload=(MODEL, OTHER)) as stage:
        await stage.until_ready()
        await trio.sleep(3)
        authority.write(MODEL, {**model_config(MODEL), "max_sequence_length": 64})
        tell(stage)
        await trio.sleep(5)
        assert sorted(load.serving_id for load in loads.asked[:2]) == [OTHER, MODEL]
        assert [load.serving_id for load in loads.asked[2:]] == [MODEL]
        assert loads.asked[-1].max_sequence_length == 64
        await stage.until_ready()


async def test_a_model_that_is_taken_away_does_not_keep_its_worker_from_being_ready(autojump_clock: MockClock) -> None:
    authority = Writable()
    async with worker(authority=authority, preload=(MODEL, OTHER)) as stage:
        await stage.until_ready()
        authority.write(OTHER, None)
        tell(stage)
        await trio.sleep(5)
        assert stage.status().ready


async def test_work_that_waits_under_a_hash_the_worker_left_is_given_back(autojump_clock: MockClock) -> None:
    authority = Writable()
    async with worker(never_load, authority=authority) as stage:
        await until(lambda: bool(stage.bus.heartbeats()) and stage.status().bundle_config_hash is not None)
        stage.queue.put(delivery(work()))
        await trio.sleep(1)
        authority.write(NEW, model_config(NEW))
        tell(stage)
        await trio.sleep(3)
        assert words_of(stage)[1][-1].startswith(b"-NAK")
        assert stage.bus.results() == []


async def test_an_authority_that_is_away_changes_nothing(autojump_clock: MockClock) -> None:
    authority = Writable()
    async with worker(authority=authority) as stage:
        await stage.until_ready()
        authority.failures = authority.reads + 3
        authority.write(NEW, model_config(NEW))
        before = stage.status().bundle_config_hash
        await trio.sleep(3)
        tell(stage)
        await trio.sleep(10)
        assert (stage.status().ready, stage.status().bundle_config_hash) == (True, before)
        await trio.sleep(100)
        assert holds(stage, authority)
