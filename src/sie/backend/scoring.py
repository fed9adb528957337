"""Items to score: a query and what is to be ranked by it, and the ranking as a reply tells it (wire-facts 1.3)."""

from collections.abc import Mapping, Sequence

import numpy as np

from sie.adapters.api import BadInput, ScoredRow, ScoreInput, Vector
from sie.backend.items import id_of, non_finite, text_of
from sie.wire.codec import pack
from sie.wire.ipc import EncodeItem, ItemOutcome


def read_score(item: EncodeItem) -> ScoreInput:
    """Raises BadInput, which names what is missing where."""
    if not item.candidates:
        raise BadInput("a score needs at least one item beside its query")
    texts = (text_of(one, f"item {index}") for index, one in enumerate(item.candidates))
    return ScoreInput(text_of(item.item, "the query"), tuple(texts), item.instruction)


def render_scored(item: EncodeItem, row: ScoredRow) -> ItemOutcome:
    """The whole list, or no answer: half a ranking would be another one."""
    if not np.isfinite(row.scores).all():
        return non_finite("a score")
    return ItemOutcome(result_msgpack=pack(ranking(item.candidates or (), row.scores)), input_tokens=row.tokens)


def ranking(items: Sequence[Mapping[str, object]], scores: Vector) -> list[Mapping[str, object]]:
    """The best first; those with one score in the order that they came in."""
    ids = [id_of(item, f"item-{index}")["id"] for index, item in enumerate(items)]
    order = np.argsort(-scores, kind="stable").tolist()
    return [{"item_id": ids[at], "score": float(scores[at]), "rank": rank} for rank, at in enumerate(order)]
