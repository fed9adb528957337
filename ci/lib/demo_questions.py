"""What the demo asks of its corpus, which passage must come first, and how passages are ranked."""

from collections.abc import Sequence

import attrs
import numpy as np

from ci.lib.corpus import Passage
from ci.lib.demo_client import Vectors

SHOWN = 3


@attrs.frozen
class Question:
    """`expected` is the name of what the best passage documents; every Python from 3.11 on has it."""

    text: str
    expected: str


QUESTIONS = (
    Question("How do I make a temporary folder that is deleted afterwards?", "tempfile.TemporaryDirectory"),
    Question("How do I shorten a text to a given width?", "textwrap.shorten"),
    Question("How do I merge several sorted inputs into one sorted output?", "heapq.merge"),
)


@attrs.frozen
class Hit:
    similarity: float
    passage: Passage


def best(question: Vectors, vectors: Vectors, passages: Sequence[Passage], count: int = SHOWN) -> list[Hit]:
    """The nearest by cosine similarity, the best first. `question` is `[dims]`, `vectors` `[passages, dims]`."""
    similarities = (vectors @ question) / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(question))
    return [Hit(float(similarities[at]), passages[at]) for at in np.argsort(-similarities)[:count]]
