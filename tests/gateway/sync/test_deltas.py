"""Live deltas (§4.3): whose count, what each does, and what asks for a poll."""

import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import Message
from sie.domain.convergence import Trust
from sie.gateway.sync import deltas as module
from sie.gateway.sync.bootstrap import Syncing, catch_up
from sie.gateway.sync.deltas import Deltas
from sie.wire.configs_api import ExportReply
from tests.gateway.sync.authority import ScriptedAuthority, make_syncing, text

TRUST = Trust(("sie-config",))


async def ready(**texts: str) -> tuple[ScriptedAuthority, Syncing, Deltas]:
    authority = ScriptedAuthority(4, texts or {"m": text("m")})
    syncing = make_syncing()
    await catch_up(syncing, authority)
    return authority, syncing, Deltas(syncing, TRUST)


async def asks_for_a_poll(syncing: Syncing) -> bool:
    with trio.move_on_after(0.5) as scope:
        await syncing.wait_poll(10)
    return not scope.cancelled_caught


async def test_a_write_is_served_as_soon_as_it_is_told(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    await deltas.apply(authority.write("n", text("n")))
    assert syncing.replica.registry.snapshot == authority.snapshot
    assert syncing.replica.reading.epoch == 5
    assert syncing.replica.reading.bundle_config_hashes_hash == authority.snapshot.bundle_config_hashes_hash
    assert not await asks_for_a_poll(syncing)


async def test_the_same_delta_again_changes_nothing(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    told = authority.write("n", text("n"))
    await deltas.apply(told)
    before = syncing.replica.registry.snapshot
    await deltas.apply(told)
    assert syncing.replica.registry.snapshot is before
    assert not await asks_for_a_poll(syncing)


@pytest.mark.parametrize("producer", ["stranger", "sie-configuration", "", "sie-confi"])
async def test_a_stranger_changes_nothing(producer: str) -> None:
    authority, syncing, deltas = await ready()
    before = (syncing.replica.registry.snapshot, syncing.replica.reading)
    authority.write("n", text("n"))
    await deltas.apply(authority.delta("n", producer=producer, epoch=1000))
    assert (syncing.replica.registry.snapshot, syncing.replica.reading) == before
    assert syncing.replica.deltas == {"untrusted": 1}


@pytest.mark.parametrize("producer", ["sie-config", "sie-config-0", "sie-config-5f7b6d8c-kxwvr"])
async def test_the_deployment_and_its_pods_are_trusted(producer: str) -> None:
    authority, syncing, deltas = await ready()
    authority.write("n", text("n"))
    await deltas.apply(authority.delta("n", producer=producer))
    assert "n" in syncing.replica.registry.snapshot.models


async def test_the_producer_may_be_named_by_its_other_key() -> None:
    authority, syncing, deltas = await ready()
    authority.write("n", text("n"))
    await deltas.apply(authority.delta("n", producer="", producer_id="sie-config-1"))
    assert "n" in syncing.replica.registry.snapshot.models


async def test_an_empty_body_moves_the_epoch_alone_and_asks_for_a_poll(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    before = syncing.replica.registry.snapshot
    authority.epoch = 7
    await deltas.apply(authority.delta("m", model_config="  \n"))
    assert syncing.replica.registry.snapshot is before
    assert syncing.replica.reading.epoch == 7
    assert await asks_for_a_poll(syncing)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"bundle_id": 3}', b"\xff"])
async def test_what_cannot_be_read_moves_nothing(data: bytes) -> None:
    _, syncing, deltas = await ready()
    await deltas.apply(data)
    assert (syncing.replica.reading.epoch, dict(syncing.replica.deltas)) == (4, {"unreadable": 1})


async def test_a_document_that_cannot_be_parsed_does_not_advance_the_epoch() -> None:
    authority, syncing, deltas = await ready()
    authority.write("n", text("n"))
    await deltas.apply(authority.delta("n", model_config="{sie_id: [}"))
    assert syncing.replica.reading.epoch == 4


async def test_a_conflict_is_refused_and_asks_for_a_poll(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    before = syncing.replica.registry.snapshot
    await deltas.apply(authority.write("m", text("m", 99)))
    assert syncing.replica.registry.snapshot is before
    assert syncing.replica.reading.epoch == 4
    assert await asks_for_a_poll(syncing)


async def test_an_unroutable_model_is_refused(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    authority.write("n", text("n"))
    await deltas.apply(authority.delta("n", model_config=text("n").replace("acme.a", "acme.other")))
    assert "n" not in syncing.replica.registry.snapshot.models
    assert await asks_for_a_poll(syncing)


async def test_a_gap_is_noticed_at_once(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    authority.write("lost", text("lost"))
    await deltas.apply(authority.write("n", text("n")))
    assert "n" in syncing.replica.registry.snapshot.models
    assert await asks_for_a_poll(syncing)


async def test_a_hash_that_comes_out_otherwise_asks_for_a_poll(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    authority.write("n", text("n"))
    await deltas.apply(authority.delta("n", bundle_config_hash="0" * 64))
    assert await asks_for_a_poll(syncing)


async def test_a_late_delta_from_before_the_export_does_not_bring_a_removed_model_back() -> None:
    authority, syncing, deltas = await ready()
    late = authority.write("n", text("n"))
    del authority.texts["n"]
    authority.epoch += 1
    await catch_up(syncing, authority)
    await deltas.apply(late)
    assert "n" not in syncing.replica.registry.snapshot.models
    assert syncing.replica.reading.epoch == 6


async def test_reordered_deltas_end_in_the_same_registry() -> None:
    authority, syncing, deltas = await ready()
    first = authority.write("n", text("n"))
    second = authority.write("n", text("n", more=", fast: {extends: default}"))
    await deltas.apply(second)
    await deltas.apply(first)
    assert syncing.replica.registry.snapshot == authority.snapshot
    assert syncing.replica.reading.epoch == 6


async def test_without_a_store_epochs_stay_zero_and_deltas_count(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    authority.epoch = 0
    await catch_up(syncing, authority, may_step_back=True)
    authority.texts["n"] = text("n")
    await deltas.apply(authority.delta("n"))
    assert syncing.replica.registry.snapshot == authority.snapshot


async def test_a_delta_that_comes_while_an_export_is_read_is_judged_after_it(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()

    class Slow(ScriptedAuthority):
        async def read_export(self) -> ExportReply:
            export = await authority.read_export()
            await trio.sleep(1)
            return export

    async with trio.open_nursery() as nursery:
        nursery.start_soon(deltas.apply_forever)
        nursery.start_soon(catch_up, syncing, Slow(authority.epoch, authority.texts))
        await trio.sleep(0.5)
        deltas.receive(Message("sie.config.models._all", authority.write("n", text("n"))))
        await trio.sleep(2)
        assert syncing.replica.registry.snapshot == authority.snapshot
        assert syncing.replica.reading.epoch == 5
        nursery.cancel_scope.cancel()


async def test_what_cannot_wait_is_dropped_and_asked_for(autojump_clock: MockClock) -> None:
    authority, syncing, deltas = await ready()
    told = Message("sie.config.models._all", authority.write("n", text("n")))
    for _ in range(module.WAITING + 1):
        deltas.receive(told)
    assert syncing.replica.deltas == {"dropped": 1}
    assert await asks_for_a_poll(syncing)


async def test_a_document_that_two_bundles_tell_of_is_read_once() -> None:
    authority, syncing, deltas = await ready()
    authority.write("n", text("n"))
    await deltas.apply(authority.delta("n"))
    model = deltas.last_read
    await deltas.apply(authority.delta("n", bundle_id="beta"))
    assert deltas.last_read is model
    authority.write("o", text("o"))
    await deltas.apply(authority.delta("o"))
    assert syncing.replica.registry.snapshot == authority.snapshot
