"""Which histories must the model and a real nats-server tell alike? Lists of steps, drawn from a seed or by Hypothesis.

Time passes in lapses, long enough that whatever ends in one ends there on both sides; the few steps between two lapses
take far less than an ack_wait. So the two may differ in when something happens by less than a lapse, and in nothing
else: a redelivery, an advisory or an expiry that comes a lapse too late or too early is a disagreement.
"""

import random
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeVar

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from sie.testing.broker.steps import (
    PAUSES,
    AnswerStep,
    ConsumerStep,
    DeleteStep,
    GetStep,
    LapseStep,
    ListenStep,
    OversizeStep,
    PublishStep,
    PullStep,
    ReconnectStep,
    RestartStep,
    SlowStep,
    Step,
    StreamStep,
    Word,
)

T = TypeVar("T")

LAPSE_S = 1.9  # above twice the ack_wait
ACK_WAIT_S = 0.8
MAX_AGE_S = 1.5  # above the ack_wait and the steps between two lapses together, so that giving up comes first
LATER_S = 3.3  # due in the second lapse from the NAK
NEVER_S = 60.0
STEPS_BETWEEN_LAPSES = 9
SUBJECTS = ("a.x", "a.y", "b.x", "none.of.them")
FILTERS = ("a.*", "b.*", "*.x", "a.x")
PATTERNS = ("a.x", "a.*", "*.x", ">", "none.>", "*.of.*")
QUEUES = ("", "", "q", "r")
OVERSIZES = (-1, 0, 1, 100)
CHUNKS = (1, 24)  # far from what a server keeps for a client; the machine itself buffers some more

Flavor = Literal["shared", "own"]
"""Whether other histories run on the same server, or this one may restart it.

How long a restart takes is nobody's promise, and a server keeps the times of what it lent to the second only. So what
is timed in a history with restarts falls due within any lapse, or never. Nor is anything delivered only once there: of
such a message a server that started tells now that it is lent, now that it is not, and no rule is known for which.
"""


class Draw(Protocol):
    def choice(self, options: Sequence[T], /) -> T: ...


def draw_history(seed: str, steps: int, flavor: Flavor = "shared") -> tuple[Step, ...]:
    """The same seed gives the same history."""
    draw = _Seeded(random.Random(seed))
    drawn = [*_start(draw, flavor), *(draw_step(draw, flavor) for _ in range(steps))]
    return with_lapses(drawn)[:steps]


def histories(max_steps: int, flavor: Flavor = "shared") -> SearchStrategy[tuple[Step, ...]]:
    @st.composite
    def start(draw: DrawFn) -> list[Step]:
        return _start(_Drawn(draw), flavor)

    @st.composite
    def step(draw: DrawFn) -> Step:
        return draw_step(_Drawn(draw), flavor)

    listed = st.lists(step(), max_size=max_steps)
    return st.builds(lambda first, rest: with_lapses([*first, *rest]), start(), listed)


def with_lapses(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps, with a lapse wherever too many stand in a row without one."""
    spaced: list[Step] = []
    since = 0
    for step in steps:
        if since == STEPS_BETWEEN_LAPSES and not isinstance(step, PAUSES):
            spaced.append(LapseStep())
            since = 0
        spaced.append(step)
        since = 0 if isinstance(step, PAUSES) else since + 1
    return tuple(spaced)


def draw_step(draw: Draw, flavor: Flavor) -> Step:
    if flavor == "own" and draw.choice(range(15)) == 0:
        return RestartStep()
    return draw.choice(_WEIGHTED)(draw, flavor)


def draw_publish(draw: Draw, _: Flavor) -> Step:
    return PublishStep(draw.choice(SUBJECTS), draw.choice(("", "", "", "i1", "i2")), draw.choice((0, 5, 1000)))


def draw_pull(draw: Draw, _: Flavor) -> Step:
    no_wait, stays = draw.choice(((False, False), (True, False), (False, True)))
    return PullStep(draw.choice("cccd"), draw.choice((1, 2, 3, 4)), no_wait, stays)


def draw_answer(draw: Draw, flavor: Flavor) -> Step:
    later: Word = "-NAK later" if flavor == "shared" else "-NAK never"
    words: tuple[Word, ...] = ("+ACK", "+ACK", "-NAK", later, "+WPI", "+TERM")
    return AnswerStep(draw.choice(words), draw.choice(range(10)))


def draw_stream(draw: Draw, flavor: Flavor) -> StreamStep:
    return StreamStep(
        draw.choice(("CREATE", "UPDATE", "INFO", "INFO", "INFO", "INFO", "PURGE", "DELETE")),
        draw.choice(("workqueue", "workqueue", "workqueue", "limits")),
        draw.choice(("memory", "memory", "file")),
        draw.choice((3, 5, -1)),
        draw.choice(("new", "new", "old")),
        flavor == "shared" and draw.choice((False, False, True)),
    )


def draw_consumer(draw: Draw, flavor: Flavor) -> ConsumerStep:
    return ConsumerStep(
        draw.choice(("create", "create", "update", "create", "update", "INFO", "INFO", "DELETE")),
        draw.choice("ccd"),
        draw.choice(FILTERS),
        draw.choice((1, 2, 3) if flavor == "shared" else (2, 3)),
        draw.choice((1, 2, 10)),
    )


_WEIGHTS: tuple[tuple[int, Callable[[Draw, Flavor], Step]], ...] = (
    (80, draw_publish),
    (80, draw_pull),
    (80, draw_answer),
    (20, draw_stream),
    (30, draw_consumer),
    (20, lambda draw, _: ListenStep(draw.choice(PATTERNS), draw.choice(QUEUES))),
    (10, lambda draw, _: GetStep(draw.choice(range(10)))),
    (10, lambda draw, _: DeleteStep(draw.choice(range(6)))),
    (5, lambda _, __: ReconnectStep()),
    (2, lambda draw, _: OversizeStep(draw.choice(OVERSIZES))),
    (2, lambda draw, _: SlowStep(draw.choice(CHUNKS))),
)
_WEIGHTED = tuple(drawn for weight, drawn in _WEIGHTS for _ in range(weight))


def _start(draw: Draw, flavor: Flavor) -> list[Step]:
    """A stream and a consumer, so that something happens; on disk, where it is to outlive its server."""
    stream = attrs.evolve(draw_stream(draw, flavor), call="CREATE")
    if flavor == "own":
        stream = attrs.evolve(stream, storage=draw.choice(("file", "file", "memory")))
    return [stream, attrs.evolve(draw_consumer(draw, flavor), call="create")]


@attrs.frozen
class _Seeded:
    random: random.Random

    def choice(self, options: Sequence[T], /) -> T:
        return self.random.choice(options)


@attrs.frozen
class _Drawn:
    draw: DrawFn

    def choice(self, options: Sequence[T], /) -> T:
        return self.draw(st.sampled_from(options))
