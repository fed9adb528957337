"""Which histories must the model and a real nats-server tell alike? Lists of total steps, drawn from a seed.

A step makes sense wherever it stands: the k-th delivery is taken modulo those held. Time passes in lapses, long enough
that whatever ends in one ends there on both sides; the few steps between two lapses take far less than an ack_wait.
"""

import random
from typing import Literal

import attrs

LAPSE_S = 1.9  # above twice the ack_wait: the server may look at what was lent only that often
ACK_WAIT_S = 0.8
NAK_DELAY_S = 3.3  # due in the second lapse from the NAK
STEPS_BETWEEN_LAPSES = 10
SUBJECTS = ("a.x", "a.y", "b.x", "none.of.them")
FILTERS = ("a.*", "b.*", "*.x", "a.x")


@attrs.frozen
class PublishStep:
    subject: str
    message_id: str
    size_bytes: int


@attrs.frozen
class PullStep:
    consumer: str
    batch: int
    no_wait: bool


@attrs.frozen
class AnswerStep:
    word: Literal["+ACK", "-NAK", "-NAK later", "+WPI", "+TERM"]
    which: int


@attrs.frozen
class StreamStep:
    call: Literal["CREATE", "UPDATE", "DELETE", "INFO", "PURGE"]
    retention: str
    storage: str
    max_msgs: int
    discard: str


@attrs.frozen
class ConsumerStep:
    call: Literal["create", "update", "DELETE", "INFO"]
    consumer: str
    filter_subject: str
    max_deliver: int
    max_ack_pending: int


@attrs.frozen
class GetStep:
    seq: int


@attrs.frozen
class LapseStep:
    """Let `LAPSE_S` pass."""


Step = PublishStep | PullStep | AnswerStep | StreamStep | ConsumerStep | GetStep | LapseStep
KINDS = ("publish", "pull", "answer", "stream", "consumer", "get")
WEIGHTS = (8, 8, 8, 2, 3, 1)


def draw_history(seed: str, steps: int) -> tuple[Step, ...]:
    """The same seed gives the same history. It begins with a stream and a consumer, so that something happens."""
    draw = random.Random(seed)
    start: list[Step] = [
        attrs.evolve(draw_stream(draw), call="CREATE"),
        attrs.evolve(draw_consumer(draw), call="create"),
    ]
    history: list[Step] = start
    while len(history) < steps:
        history.append(LapseStep() if len(history) % STEPS_BETWEEN_LAPSES == 0 else draw_step(draw))
    return tuple(history)


def draw_step(draw: random.Random) -> Step:
    match draw.choices(KINDS, WEIGHTS)[0]:
        case "publish":
            return PublishStep(draw.choice(SUBJECTS), draw.choice(("", "", "", "i1", "i2")), draw.choice((0, 5, 1000)))
        case "pull":
            return PullStep(draw.choice("cccd"), draw.randint(1, 4), draw.random() < 0.5)
        case "answer":
            return AnswerStep(draw.choice(("+ACK", "+ACK", "-NAK", "-NAK later", "+WPI", "+TERM")), draw.randint(0, 9))
        case "stream":
            return draw_stream(draw)
        case "consumer":
            return draw_consumer(draw)
        case _:
            return GetStep(draw.randint(0, 9))


def draw_stream(draw: random.Random) -> StreamStep:
    return StreamStep(
        draw.choice(("CREATE", "UPDATE", "INFO", "INFO", "INFO", "INFO", "PURGE", "DELETE")),
        draw.choice(("workqueue", "workqueue", "workqueue", "limits")),
        draw.choice(("memory", "memory", "file")),
        draw.choice((3, 5, -1)),
        draw.choice(("new", "new", "old")),
    )


def draw_consumer(draw: random.Random) -> ConsumerStep:
    return ConsumerStep(
        draw.choice(("create", "create", "update", "create", "update", "INFO", "INFO", "DELETE")),
        draw.choice("ccd"),
        draw.choice(FILTERS),
        draw.choice((1, 2, 3)),
        draw.choice((1, 2, 10)),
    )
