"""One write for one Idempotency-Key, however often it is asked for (§3): the first does it, all get its answer."""

from collections.abc import Awaitable, Callable

import attrs
import trio

from sie.config.core.idempotency import Evicted, Fingerprint, Flight, Idempotency, Mismatch, Replay, Run, Wait
from sie.domain.errors import ErrorCode
from sie.web.bodies import json_reply
from sie.web.errors import Refusal
from sie.web.routes import Reply

_SUCCESS = 300
"""Below it an answer is a success; the rest is not kept."""


@attrs.define(eq=False)
class Once:
    """`_ends` has an event for each flight that somebody waits for."""

    keys: Idempotency[Reply] = attrs.field(factory=Idempotency, init=False)
    _ends: dict[bytes, trio.Event] = attrs.field(factory=dict, init=False)

    async def run(self, key: str | None, made_of: Fingerprint, write: Callable[[], Awaitable[Reply]]) -> Reply:
        if not key:
            return await write()
        match self.keys.claim(key, made_of):
            case Run(flight):
                return await self._own(flight, write)
            case Wait(flight):
                return await self._follow(flight)
            case Replay(answer):
                return answer
            case Evicted():
                return _evicted(key)
            case Mismatch():
                words = "This Idempotency-Key was used for another request"
                return Refusal(ErrorCode.CONFIG_IDEMPOTENCY_MISMATCH, words).reply()

    async def _own(self, flight: Flight[Reply], write: Callable[[], Awaitable[Reply]]) -> Reply:
        answer: Reply | None = None
        was_cancelled = False
        try:
            answer = await write()
        except trio.Cancelled:
            was_cancelled = True
            raise
        finally:
            succeeded = answer is not None and answer.status < _SUCCESS
            self.keys.end(flight, answer, succeeded=succeeded, was_cancelled=was_cancelled)
            if flight.key in self._ends:
                self._ends.pop(flight.key).set()
        return answer

    async def _follow(self, flight: Flight[Reply]) -> Reply:
        await self._ends.setdefault(flight.key, trio.Event()).wait()
        if flight.answer is not None:
            return flight.answer
        if flight.was_cancelled:
            words = "The request that did this write was cancelled before it began; try again"
            return Refusal(ErrorCode.CONFIG_IDEMPOTENT_CANCELLED, words).reply()
        words = "The request that did this write ended without an answer; try again"
        return Refusal(ErrorCode.CONFIG_IDEMPOTENT_ABORTED, words).reply()


def _evicted(key: str) -> Reply:
    body = {
        "error": "idempotent_replay_evicted",
        "idempotency_key": key,
        "message": "This write was done before; its answer is no longer kept",
    }
    return json_reply(body)
