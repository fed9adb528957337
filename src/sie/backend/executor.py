"""One batch on a loaded model: each item checked, the valid ones run together, one outcome for each (§16.2).

Runs in a thread. An item that the model fails on does not fail its neighbours: the batch is run again one by one, or in
halves where memory was not enough for all.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Generic, TypeVar, assert_never

import attrs

from sie.adapters.api import BadInput, Encoder, Extractor, LoadedModel, Scorer, Timed
from sie.backend.encoding import read_encode, render_encoded
from sie.backend.extracting import read_extract, render_extracted
from sie.backend.scoring import read_score, render_scored
from sie.domain.errors import ErrorCode
from sie.wire.ipc import EncodeBatch, EncodeItem, Finished, ItemOutcome
from sie.wire.work import Operation

log = logging.getLogger(__name__)

MAX_WORDS = 500
"""Of an adapter's own error text in a reply."""
I = TypeVar("I")  # noqa: E741 - an input
R = TypeVar("R")


@attrs.frozen
class Times:
    """Milliseconds, summed over the calls that a batch took."""

    tokenization_ms: float = 0.0
    inference_ms: float = 0.0
    postprocessing_ms: float = 0.0

    def plus(self, other: "Timed[R] | Times") -> "Times":
        return Times(
            self.tokenization_ms + other.tokenization_ms,
            self.inference_ms + other.inference_ms,
            self.postprocessing_ms + other.postprocessing_ms,
        )


@attrs.frozen
class Task(Generic[I, R]):
    """One operation of a model: an item read (it raises BadInput), inputs run together, a row told."""

    read: Callable[[EncodeItem], I]
    run: Callable[[Sequence[I]], Timed[R]]
    render: Callable[[EncodeItem, R], ItemOutcome]


@attrs.frozen
class Asked(Generic[I]):
    item: EncodeItem
    input: I


@attrs.frozen
class Outcomes:
    """In the order of the items."""

    each: tuple[ItemOutcome, ...]
    times: Times


def run_batch(model: LoadedModel, batch: EncodeBatch) -> Finished:
    """All items of a batch are of one operation."""
    outcomes = run_items(model, batch.items)
    return Finished(id=batch.id, outcomes=outcomes.each, **attrs.asdict(outcomes.times))


def run_items(model: LoadedModel, items: Sequence[EncodeItem]) -> Outcomes:
    operation = items[0].operation if items else "encode"
    match operation:
        case "encode" if isinstance(model, Encoder):
            return _run(Task(partial(read_encode, model), model.encode, partial(render_encoded, model)), items)
        case "score" if isinstance(model, Scorer):
            return _run(Task(read_score, model.score, render_scored), items)
        case "extract" if isinstance(model, Extractor):
            return _run(Task(read_extract, model.extract, render_extracted), items)
        case "encode" | "score" | "extract":
            return Outcomes((_undone(model, operation),) * len(items), Times())
        case other:
            assert_never(other)


def _undone(model: LoadedModel, operation: Operation) -> ItemOutcome:
    kinds: tuple[tuple[Operation, bool], ...] = (
        ("encode", isinstance(model, Encoder)),
        ("score", isinstance(model, Scorer)),
        ("extract", isinstance(model, Extractor)),
    )
    does = " and ".join(name for name, can in kinds if can)
    return _bad(BadInput(f"the model's adapter does not {operation}; it does {does}"))


def _run(task: Task[I, R], items: Sequence[EncodeItem]) -> Outcomes:
    outcomes: dict[int, ItemOutcome] = {}
    asked: dict[int, Asked[I]] = {}
    for index, item in enumerate(items):
        try:
            asked[index] = Asked(item, task.read(item))
        except BadInput as error:
            outcomes[index] = _bad(error)
    ran = _run_all(task, tuple(asked.values()))
    outcomes.update(zip(asked, ran.each, strict=True))
    return Outcomes(tuple(outcomes[index] for index in range(len(items))), ran.times)


def _run_all(task: Task[I, R], asked: Sequence[Asked[I]]) -> Outcomes:
    if not asked:
        return Outcomes((), Times())
    try:
        ran = task.run([one.input for one in asked])
    except Exception as error:  # whatever an adapter raises is an answer to its caller, not the end of the process
        if not isinstance(error, BadInput):
            log.exception("a batch failed in its adapter", extra={"items": len(asked)})
        return _run_smaller(task, asked, error)
    rendered = (task.render(one.item, row) for one, row in zip(asked, ran.rows, strict=True))
    return Outcomes(tuple(rendered), Times().plus(ran))


def _run_smaller(task: Task[I, R], asked: Sequence[Asked[I]], error: Exception) -> Outcomes:
    """What failed together, in parts, each of which may fail in turn."""
    if len(asked) == 1:
        return Outcomes((_failed(error),), Times())
    size = (len(asked) + 1) // 2 if is_exhausted(error) else 1
    parts = [_run_all(task, asked[start : start + size]) for start in range(0, len(asked), size)]
    times = reduce(Times.plus, (part.times for part in parts), Times())
    return Outcomes(tuple(outcome for part in parts for outcome in part.each), times)


def _failed(error: Exception) -> ItemOutcome:
    if isinstance(error, BadInput):
        return _bad(error)
    words = f"{type(error).__name__}: {error}"[:MAX_WORDS]
    code = ErrorCode.RESOURCE_EXHAUSTED if is_exhausted(error) else ErrorCode.INFERENCE_ERROR
    return ItemOutcome(error_code=code, error=words)


def _bad(error: BadInput) -> ItemOutcome:
    return ItemOutcome(error_code=error.code, error=str(error))


def is_exhausted(error: Exception) -> bool:
    """Did memory run out, the host's or the device's?"""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)
