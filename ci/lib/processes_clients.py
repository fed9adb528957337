"""The clients of `ci/simulate --processes`: each asks one request after another until all have ended."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

import attrs
import numpy as np
import trio

from ci.lib.demo_system import NotReady
from ci.lib.processes_asking import Ask, body_of
from ci.lib.processes_http import Answer, Connection, Lost, Unanswered
from ci.lib.processes_judging import APART, Judged, Vectors, judge, least_distance, vectors_of
from ci.lib.processes_retry import Tried, decide_wait, hint_of, reason_of
from ci.lib.processes_tally import LEFT, Tally
from sie.cli.settings import DEFAULT_MODEL


@attrs.frozen
class Load:
    """`right` are by model the vectors of `texts`, row by row. `draw` says what a request of that number is.
    `pause_s` is the longest that a client rests between requests. `clients` ask at the same time. `life` numbers the
    gateway's lives, and is None while it is away.
    """

    port: int
    seed: int
    texts: Sequence[str]
    right: Mapping[str, Vectors]
    draw: Callable[[int], Ask]
    tally: Tally
    clients: int
    pause_s: float
    life: Callable[[], int | None]

    async def run(self, requests: int) -> None:
        numbers = iter(range(requests))
        async with trio.open_nursery() as nursery:
            for _ in range(min(self.clients, requests)):
                nursery.start_soon(self._client, numbers)

    async def _client(self, numbers: Iterator[int]) -> None:
        connection = Connection(self.port)
        for number in numbers:
            await trio.sleep(Random(f"rests {self.seed} {number}").uniform(0, self.pause_s))
            await self._one(connection, self.draw(number))
        self.tally.strays += connection.strays
        await connection.leave()

    async def _one(self, connection: Connection, ask: Ask) -> None:
        began_s, again, judged = trio.current_time(), Counter[str](), LEFT
        with trio.move_on_after(ask.leaves_after_s or float("inf")):
            judged = await self._final(connection, ask, again)
        self.tally.ended(ask, judged, again, trio.current_time() - began_s)

    async def _final(self, connection: Connection, ask: Ask, again: Counter[str]) -> Judged:
        """The answer after which the client asks no more; `again` gets what it asked again after."""
        luck, began_s = Random(f"waits {self.seed} {ask.number}"), trio.current_time()
        send = partial(connection.post, ask.path, ask.media, body_of(ask, self.texts))
        while True:
            life = self.life()
            try:
                answer = await send()
            except Lost as loss:
                answer, is_same = None, life is not None and life == self.life()
                self.tally.dropped += loss.was_open and is_same
            except Unanswered:
                return Judged("wrong", "nothing")
            if answer is not None:
                self.tally.answered(answer.headers.get("x-sie-request-id"), by=answer.headers.get("x-sie-worker"))
            wait_s = _wait(answer, again, trio.current_time() - began_s, luck)
            if wait_s is None:
                return judge(ask, answer, self.right[ask.model])
            await trio.sleep(wait_s)


def _wait(answer: Answer | None, again: Counter[str], elapsed_s: float, luck: Random) -> float | None:
    """Counts the reason where the client asks again."""
    reason = reason_of(answer)
    if reason is None:
        return None
    hint_s = hint_of(answer) if answer is not None else None
    wait_s = decide_wait(Tried(reason, hint_s, elapsed_s, again[reason]), luck)
    again[reason] += wait_s is not None
    return wait_s


async def right_vectors(port: int, texts: Sequence[str], model: str = DEFAULT_MODEL) -> Vectors:
    """One text a request, of a system that nothing has happened to. Raises NotReady."""
    connection, rows = Connection(port), list[Vectors]()
    for place in range(len(texts)):
        ask = Ask(place, "encode", "msgpack", (place,), model=model)
        answer = await connection.post(ask.path, ask.media, body_of(ask, texts))
        vectors = vectors_of(answer)
        if vectors is None:
            raise NotReady(f"a system at rest answered {answer.status}: {answer.body[:200]!r}")
        rows.append(vectors)
    await connection.leave()
    right = np.concatenate(rows)
    if least_distance(right) < APART:
        raise NotReady("two texts have vectors too close to be told apart")
    return right
