"""What can happen in a history? Total steps: each makes sense wherever it stands, so a history without it is one, too.

A history is its own replay file. The k-th delivery is taken modulo those held; who listens already leaves.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, get_args

import attrs

from sie.wire.converters import EXACT, WireError, structure

Word = Literal["+ACK", "-NAK", "-NAK later", "-NAK never", "+WPI", "+TERM"]
"""A NAK comes again at once, after a second lapse, or in no history."""
StreamCall = Literal["CREATE", "UPDATE", "DELETE", "INFO", "PURGE"]
ConsumerCall = Literal["create", "update", "DELETE", "INFO"]


@attrs.frozen
class PublishStep:
    subject: str
    message_id: str
    size_bytes: int


@attrs.frozen
class PullStep:
    """`stays`: nobody waits for its end, and it is open until time passes."""

    consumer: str
    batch: int
    no_wait: bool
    stays: bool


@attrs.frozen
class AnswerStep:
    word: Word
    which: int


@attrs.frozen
class StreamStep:
    call: StreamCall
    retention: str
    storage: str
    max_msgs: int
    discard: str
    ages: bool


@attrs.frozen
class ConsumerStep:
    call: ConsumerCall
    consumer: str
    filter_subject: str
    max_deliver: int
    max_ack_pending: int


@attrs.frozen
class GetStep:
    seq: int


@attrs.frozen
class DeleteStep:
    """One message out of the stream, whatever became of it there."""

    seq: int


@attrs.frozen
class ListenStep:
    """Begin to listen to a pattern, alone or in a queue group, or stop it."""

    pattern: str
    queue: str


@attrs.frozen
class OversizeStep:
    """One message, from a connection of its own, whose payload and headers are `over_bytes` above max_payload."""

    over_bytes: int


@attrs.frozen
class SlowStep:
    """So much is sent to a client, of its own connection, that does not read."""

    chunks: int


@attrs.frozen
class LapseStep:
    """Let time pass."""


@attrs.frozen
class ReconnectStep:
    """The client leaves with its connection and comes back on another; then time passes."""


@attrs.frozen
class RestartStep:
    """The server ends and starts anew; then time passes."""


Step: TypeAlias = (
    PublishStep
    | PullStep
    | AnswerStep
    | StreamStep
    | ConsumerStep
    | GetStep
    | DeleteStep
    | ListenStep
    | OversizeStep
    | SlowStep
    | LapseStep
    | ReconnectStep
    | RestartStep
)
PAUSES = (LapseStep, ReconnectStep, RestartStep)
_KINDS: Mapping[str, type[object]] = {kind.__name__: kind for kind in get_args(Step)}


def to_json(steps: Iterable[Step]) -> str:
    return json.dumps([{"step": type(step).__name__, **attrs.asdict(step)} for step in steps], indent=1)


def from_json(text: str) -> tuple[Step, ...]:
    """Raises WireError, and ValueError on what is not JSON."""
    rows = json.loads(text)
    if not isinstance(rows, list):
        raise WireError.at(message="not a list of steps")
    return tuple(_step(row) for row in rows)


def _step(row: object) -> Step:
    fields = dict(row) if isinstance(row, Mapping) else {}
    kind = _KINDS.get(str(fields.pop("step", None)))
    if kind is None:
        raise WireError.at("step", message="no such step")
    step: Step = structure(EXACT, fields, kind)  # type: ignore[assignment]  # every kind in the table is a step
    return step
