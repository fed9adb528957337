"""One write for one Idempotency-Key, whoever waits, leaves or fails (§3)."""

import json

import pytest
import trio
from trio.testing import MockClock

from sie.config.http.once import Once
from sie.web.bodies import json_reply
from sie.web.routes import Reply

PRINT = b"1"


class Write:
    """Takes a second, and counts."""

    def __init__(self, status: int = 201, *, breaks: bool = False) -> None:
        self.runs, self.status, self.breaks = 0, status, breaks

    async def __call__(self) -> Reply:
        self.runs += 1
        await trio.sleep(1)
        if self.breaks:
            raise RuntimeError("a fault of ours")
        return json_reply({"run": self.runs}, status=self.status)


def code(reply: Reply) -> str:
    found: str = json.loads(reply.body)["detail"]["error"]
    return found


async def gather(once: Once, write: Write, prints: list[bytes]) -> list[Reply]:
    replies: list[Reply] = []

    async def ask(made_of: bytes) -> None:
        replies.append(await once.run("k", made_of, write))

    async with trio.open_nursery() as nursery:
        for made_of in prints:
            nursery.start_soon(ask, made_of)
            await trio.sleep(0.1)
    return replies


async def test_those_who_ask_meanwhile_get_the_owners_answer(autojump_clock: MockClock) -> None:
    write = Write()
    replies = await gather(Once(), write, [PRINT] * 4)
    assert write.runs == 1
    assert [(reply.status, reply.body) for reply in replies] == [(201, b'{"run":1}')] * 4


async def test_a_failure_is_theirs_too_and_is_not_kept(autojump_clock: MockClock) -> None:
    once, write = Once(), Write(409)
    assert [reply.status for reply in await gather(once, write, [PRINT] * 3)] == [409] * 3
    assert write.runs == 1
    await once.run("k", PRINT, write)
    assert write.runs == 2


async def test_another_request_with_the_key_is_refused_at_once(autojump_clock: MockClock) -> None:
    replies = await gather(Once(), Write(), [PRINT, b"2"])
    assert [reply.status for reply in replies] == [422, 201]
    assert code(replies[0]) == "idempotency_mismatch"


async def test_when_the_owner_leaves_those_who_wait_are_told_and_a_retry_runs(autojump_clock: MockClock) -> None:
    once, write = Once(), Write()
    replies: list[Reply] = []

    async def own(task_status: trio.TaskStatus[trio.CancelScope]) -> None:
        with trio.CancelScope() as scope:
            task_status.started(scope)
            await once.run("k", PRINT, write)

    async def follow() -> None:
        replies.append(await once.run("k", PRINT, write))

    async with trio.open_nursery() as nursery:
        scope = await nursery.start(own)
        await trio.sleep(0.1)
        nursery.start_soon(follow)
        await trio.sleep(0.1)
        scope.cancel()
    assert (replies[0].status, code(replies[0])) == (503, "idempotent_inflight_cancelled")
    assert (await once.run("k", PRINT, write)).status == 201


async def test_when_the_owner_breaks_those_who_wait_are_told(autojump_clock: MockClock) -> None:
    once, write = Once(), Write(breaks=True)
    replies: list[Reply] = []

    async def own() -> None:
        with pytest.raises(RuntimeError):
            await once.run("k", PRINT, write)

    async def follow() -> None:
        replies.append(await once.run("k", PRINT, write))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(own)
        await trio.sleep(0.1)
        nursery.start_soon(follow)
    assert (replies[0].status, code(replies[0])) == (503, "idempotent_inflight_aborted")


async def test_a_key_whose_answer_is_gone_is_not_written_again(autojump_clock: MockClock) -> None:
    once, write = Once(), Write()
    once.keys.replays = 1
    await once.run("k", PRINT, write)
    await once.run("other", PRINT, write)
    gone = await once.run("k", PRINT, write)
    assert (gone.status, json.loads(gone.body)["error"]) == (200, "idempotent_replay_evicted")
    assert write.runs == 2
