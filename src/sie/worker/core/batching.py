"""What is a batch: how much of one model and operation goes to the device together? A token budget bounds it (§16.2).

The estimate is rough on purpose: the backend tokenizes, and packs what it gets into the shapes that it has compiled.
Which of the items that wait go into a batch is for `core.turns`, and when it goes for `core.waiting`.
"""

from collections.abc import Mapping

import attrs

BYTES_PER_TOKEN = 4
SPECIAL_TOKENS = 2
BATCH_FACTOR = 4
"""Batches of the profile's `max_batch_tokens` in one hand-over: enough to pack well, few enough to answer soon."""
DEFAULT_MAX_BATCH_TOKENS = 4096
MAX_BATCH_ITEMS = 256

Kind = tuple[str, str]
"""A serving id and an operation: only what has both in common is run together."""
Request = tuple[str, str]
"""Its gateway and its id, which is one there only."""


@attrs.frozen
class Candidate:
    """`order` rises with age's fall: the smallest is the oldest."""

    order: int
    serving_id: str
    operation: str
    tokens: int
    request: Request

    @property
    def kind(self) -> Kind:
        return self.serving_id, self.operation


def budget_of(serving_id: str, budgets: Mapping[str, int]) -> int:
    """Tokens of one hand-over; `budgets` holds the `max_batch_tokens` of each serving id."""
    return BATCH_FACTOR * budgets.get(serving_id, DEFAULT_MAX_BATCH_TOKENS)


def estimate_tokens(item: Mapping[str, object] | None, max_sequence_length: int | None) -> int:
    """From the bytes of the text; never above what the model reads of it."""
    text = item.get("text") if item else None
    tokens = (_size(text) if isinstance(text, str) else 0) // BYTES_PER_TOKEN + SPECIAL_TOKENS
    return min(tokens, max_sequence_length) if max_sequence_length else tokens


def _size(text: str) -> int:
    """UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
