"""What has been read when the server begins (§4): the authority is asked once before, and nobody waits long for it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random

import attrs
import trio
from trio.testing import MockClock

from sie.authority.client import Authority, AuthorityError
from sie.domain.convergence import Trust
from sie.domain.ids import RouterId
from sie.domain.subjects import inbox_prefix
from sie.gateway.sync.bootstrap import Syncing
from sie.gateway.sync.following import FIRST_ANSWER_S, Sources, following
from sie.wire.configs_api import EpochReply
from tests.gateway.doubles import ScriptedBus
from tests.gateway.sync.authority import ScriptedAuthority, make_syncing, text

OpenOurs = Callable[[], AbstractAsyncContextManager[Authority]]


@attrs.define
class Slow(ScriptedAuthority):
    delay_s: float = 0.0

    async def read_epoch(self) -> EpochReply:
        await trio.sleep(self.delay_s)
        return await super().read_epoch()


def opening(authority: ScriptedAuthority, problem: AuthorityError | None = None) -> OpenOurs:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Authority]:
        if problem is not None:
            raise problem
        yield authority

    return opened


async def begun(open_authority: OpenOurs | None) -> tuple[Syncing, float]:
    """How it stands when the block begins, and how long that took."""
    syncing, began_s = make_syncing(), trio.current_time()
    sources = Sources(open_authority, None, Trust(("sie-config",), False), 30.0, Random(0))
    async with following(syncing, ScriptedBus(inbox_prefix(RouterId("gw-1"))), sources):
        return syncing, trio.current_time() - began_s


async def test_what_the_authority_has_is_known_when_the_server_begins(autojump_clock: MockClock) -> None:
    """A request that came sooner would hear of no model, and its client would not ask again."""
    syncing, took_s = await begun(opening(Slow(4, {"m": text("m")}, delay_s=0.3)))
    assert syncing.replica.registry.snapshot.find("m") is not None
    assert took_s < FIRST_ANSWER_S


async def test_an_authority_that_takes_its_time_is_not_waited_for(autojump_clock: MockClock) -> None:
    syncing, took_s = await begun(opening(Slow(4, {"m": text("m")}, delay_s=60)))
    assert not syncing.replica.bootstrap.done
    assert took_s == FIRST_ANSWER_S


async def test_one_that_is_away_holds_nothing_up(autojump_clock: MockClock) -> None:
    no_address = opening(ScriptedAuthority(), AuthorityError("this is no address"))
    for open_authority in (opening(ScriptedAuthority(fails_on="epoch")), no_address, None):
        syncing, took_s = await begun(open_authority)
        assert not syncing.replica.bootstrap.done
        assert took_s == 0
