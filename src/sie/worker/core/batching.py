"""Which of the items that wait go to the device together? One model and operation, oldest first, within a token budget.

The estimate is rough on purpose: the backend tokenizes, and packs what it gets into the shapes that it has compiled.
"""

from collections.abc import Collection, Iterable, Mapping

import attrs

BYTES_PER_TOKEN = 4
SPECIAL_TOKENS = 2
BATCH_FACTOR = 4
"""Batches of the profile's `max_batch_tokens` in one hand-over: enough to pack well, few enough to answer soon."""
DEFAULT_MAX_BATCH_TOKENS = 4096
MAX_BATCH_ITEMS = 256


@attrs.frozen
class Candidate:
    """`order` rises with age's fall: the smallest is the oldest."""

    order: int
    serving_id: str
    operation: str
    tokens: int


def plan_batch(
    waiting: Iterable[Candidate], ready: Collection[str], budgets: Mapping[str, int]
) -> tuple[Candidate, ...]:
    """The next batch out of `waiting`, which is in order of age; empty where nothing that waits is ready.

    The oldest always goes, however long it is. The first that does not fit ends the batch, so that none is overtaken.
    """
    batch: list[Candidate] = []
    tokens = 0
    for candidate in waiting:
        if candidate.serving_id not in ready or (batch and not _together(batch[0], candidate)):
            continue
        tokens += candidate.tokens
        if batch and (tokens > budget_of(candidate.serving_id, budgets) or len(batch) >= MAX_BATCH_ITEMS):
            break
        batch.append(candidate)
    return tuple(batch)


def budget_of(serving_id: str, budgets: Mapping[str, int]) -> int:
    """Tokens of one hand-over; `budgets` holds the `max_batch_tokens` of each serving id."""
    return BATCH_FACTOR * budgets.get(serving_id, DEFAULT_MAX_BATCH_TOKENS)


def estimate_tokens(item: Mapping[str, object] | None, max_sequence_length: int | None) -> int:
    """From the bytes of the text; never above what the model reads of it."""
    text = item.get("text") if item else None
    size = len(text.encode("utf-8", "replace")) if isinstance(text, str) else 0
    tokens = size // BYTES_PER_TOKEN + SPECIAL_TOKENS
    return min(tokens, max_sequence_length) if max_sequence_length else tokens


def _together(first: Candidate, other: Candidate) -> bool:
    return (first.serving_id, first.operation) == (other.serving_id, other.operation)
