"""The first catching up and every later one (§4.1, §4.2): each row of the poll's table, and what never moves."""

import weakref
from random import Random

import pytest
import trio
from trio.testing import MockClock

from sie.authority.client import AuthorityError
from sie.gateway.sync.bootstrap import PartialApply, Syncing, bootstrap_until_done, catch_up
from sie.gateway.sync.poller import poll_forever, poll_once
from sie.wire.configs_api import EpochReply
from tests.gateway.sync.authority import BETA, ScriptedAuthority, make_syncing, text


def equal(syncing: Syncing, authority: ScriptedAuthority) -> bool:
    replica = syncing.replica
    return replica.registry.snapshot == authority.snapshot and replica.reading.epoch == authority.epoch


async def caught_up(authority: ScriptedAuthority) -> Syncing:
    syncing = make_syncing()
    await catch_up(syncing, authority)
    authority.calls.clear()
    return syncing


async def test_epoch_then_bundles_then_export() -> None:
    authority, syncing = ScriptedAuthority(4, {"m": text("m")}), make_syncing()
    await catch_up(syncing, authority)
    assert authority.calls == ["epoch", "bundles", "export"]
    assert equal(syncing, authority)
    assert syncing.replica.bootstrap.done


@pytest.mark.parametrize("call", ["epoch", "bundles", "export"])
async def test_a_call_that_fails_leaves_the_replica_as_it_was(call: str) -> None:
    authority = ScriptedAuthority(4, {"m": text("m")})
    syncing = await caught_up(authority)
    before = (syncing.replica.registry.snapshot, syncing.replica.reading)
    authority.write("n", text("n"))
    authority.fails_on = call
    with pytest.raises(AuthorityError):
        await catch_up(syncing, authority)
    assert (syncing.replica.registry.snapshot, syncing.replica.reading) == before


async def test_a_partial_apply_installs_the_good_rows_keeps_the_bad_ones_and_advances_nothing() -> None:
    authority = ScriptedAuthority(4, {"m": text("m"), "bad": text("bad")})
    syncing = await caught_up(authority)
    before = syncing.replica.reading
    authority.write("n", text("n"))
    authority.write("bad", text("bad", 99))
    authority.bad_rows = ("bad",)
    with pytest.raises(PartialApply, match="bad"):
        await catch_up(syncing, authority)
    models = syncing.replica.registry.snapshot.models
    assert sorted(models) == ["bad", "m", "n"]
    assert [p.max_batch_tokens for p in next(m for i, m in models.items() if i == "bad").profiles.values()] == [8]
    assert syncing.replica.reading == before
    authority.bad_rows = ()
    await poll_once(syncing, authority)
    assert equal(syncing, authority)


async def test_an_unroutable_row_counts_as_failed_and_an_empty_one_is_skipped() -> None:
    authority, syncing = ScriptedAuthority(1, {"m": text("m").replace("acme.a", "acme.other")}), make_syncing()
    with pytest.raises(PartialApply, match="no bundle runs it"):
        await catch_up(syncing, authority)


async def test_it_is_tried_until_it_succeeds_once_and_degraded_after_ten(autojump_clock: MockClock) -> None:
    authority, syncing = ScriptedAuthority(2, {"m": text("m")}, failures=14), make_syncing()
    bootstrap = syncing.replica.bootstrap
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bootstrap_until_done, syncing, authority)
        await trio.sleep(0.05)
        assert (bootstrap.done, bootstrap.degraded, bootstrap.attempts) == (False, False, 1)
        await trio.sleep(200)
        assert bootstrap.degraded
    assert (bootstrap.done, bootstrap.degraded) == (True, False)
    assert equal(syncing, authority)


async def test_it_is_degraded_after_five_minutes_too(autojump_clock: MockClock) -> None:
    syncing = make_syncing()
    with trio.move_on_after(400):
        await bootstrap_until_done(syncing, ScriptedAuthority(fails_on="export"))
    assert syncing.replica.bootstrap.degraded


@pytest.mark.parametrize("hashes_known", [True, False])
async def test_in_sync_nothing_is_fetched(hashes_known: bool) -> None:
    authority = ScriptedAuthority(4, {"m": text("m")})
    syncing = await caught_up(authority)
    authority.hashes_known = hashes_known
    await poll_once(syncing, authority)
    assert authority.calls == ["epoch"]
    assert syncing.replica.polls == {"InSync": 1}


async def test_a_higher_epoch_is_fetched_even_from_zero() -> None:
    authority, syncing = ScriptedAuthority(), make_syncing()
    await catch_up(syncing, authority)
    authority.write("m", text("m"))
    await poll_once(syncing, authority)
    assert equal(syncing, authority)


async def test_new_bundles_at_the_same_epoch_are_fetched() -> None:
    authority = ScriptedAuthority(4, {"m": text("m")})
    syncing = await caught_up(authority)
    authority.bundles.append(BETA)
    await poll_once(syncing, authority)
    assert equal(syncing, authority)
    assert len(syncing.replica.registry.snapshot.bundles) == 2


async def test_a_pool_that_changes_hands_at_the_same_epoch_is_fetched() -> None:
    authority = ScriptedAuthority(4, {"m": text("m"), "n": text("n", pool="team")})
    syncing = await caught_up(authority)
    authority.texts = {"m": text("m", pool="team"), "n": text("n")}
    await poll_once(syncing, authority)
    assert equal(syncing, authority)


async def test_a_removal_is_learned() -> None:
    authority = ScriptedAuthority(4, {"m": text("m"), "n": text("n")})
    syncing = await caught_up(authority)
    del authority.texts["n"]
    authority.epoch += 1
    await poll_once(syncing, authority)
    assert list(syncing.replica.registry.snapshot.models) == ["m"]


async def test_a_lower_epoch_is_adopted_only_after_its_export_was_read() -> None:
    authority = ScriptedAuthority(9, {"m": text("m"), "n": text("n")})
    syncing = await caught_up(authority)
    authority.epoch, authority.texts, authority.fails_on = 2, {"m": text("m", 3)}, "export"
    await poll_once(syncing, authority)
    assert syncing.replica.reading.epoch == 9
    assert len(syncing.replica.registry.snapshot.models) == 2
    authority.fails_on = ""
    await poll_once(syncing, authority)
    assert equal(syncing, authority)


async def test_a_poll_that_fails_moves_nothing() -> None:
    authority = ScriptedAuthority(9, {"m": text("m")})
    syncing = await caught_up(authority)
    before = syncing.replica.reading
    authority.fails_on = "epoch"
    await poll_once(syncing, authority)
    assert syncing.replica.reading == before
    assert syncing.replica.polls == {"failed": 1}


async def test_an_ordinary_catching_up_never_lowers_the_epoch() -> None:
    authority = ScriptedAuthority(9, {"m": text("m")})
    syncing = await caught_up(authority)
    authority.epoch = 2
    await catch_up(syncing, authority)
    assert syncing.replica.reading.epoch == 9


async def test_the_first_poll_waits_for_one_interval_and_later_ones_for_no_longer(autojump_clock: MockClock) -> None:
    authority, at = ScriptedAuthority(), list[float]()
    syncing = await caught_up(authority)

    class Clocked(ScriptedAuthority):
        async def read_epoch(self) -> EpochReply:
            at.append(trio.current_time() - began)
            return await authority.read_epoch()

    began = trio.current_time()
    with trio.move_on_after(200):
        await poll_forever(syncing, Clocked(), 30.0, Random(1))
    gaps = [late - early for early, late in zip([0.0, *at], at, strict=False)]
    assert at[0] == pytest.approx(30.0)
    assert all(27.0 - 1e-6 <= gap <= 30.0 + 1e-6 for gap in gaps)


async def test_a_poll_can_be_asked_for_at_once(autojump_clock: MockClock) -> None:
    authority = ScriptedAuthority(1, {"m": text("m")})
    syncing = await caught_up(authority)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(poll_forever, syncing, authority, 30.0, Random(1))
        await trio.sleep(5)
        authority.write("n", text("n"))
        syncing.poll_soon()
        await trio.sleep(1)
        assert equal(syncing, authority)
        nursery.cancel_scope.cancel()


async def test_whoever_waited_for_the_turn_fetches_nothing_that_has_been_fetched_meanwhile() -> None:
    authority = ScriptedAuthority(4, {"m": text("m")})
    syncing = await caught_up(authority)
    authority.write("n", text("n"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(poll_once, syncing, authority)
        nursery.start_soon(poll_once, syncing, authority)
    assert equal(syncing, authority)
    assert authority.calls.count("export") == 1


async def test_the_snapshot_before_is_let_go_of() -> None:
    authority = ScriptedAuthority(4, {"m": text("m")})
    syncing = await caught_up(authority)
    seen = weakref.ref(next(iter(syncing.replica.registry.snapshot.models.values())))
    authority.write("n", text("n"))
    await catch_up(syncing, authority)
    assert seen() is None
