"""From labels of tokens to entities of a text: the labels of a span agree, and its first begins one (BIO). Pure."""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from sie.adapters.api import Entity

OUTSIDE = "O"


@attrs.frozen
class Label:
    """`B-CITY` begins a CITY, `I-CITY` goes on with it; a name without either goes on, too."""

    kind: str
    begins: bool


@attrs.frozen
class Tagged:
    """One token with its likeliest label, None outside of all entities; `start` and `end` in characters.

    `word` is which word of the text it is of, None where that is not known.
    """

    label: Label | None
    score: float
    start: int
    end: int
    word: int | None = None


def parse_label(name: str) -> Label | None:
    if name == OUTSIDE:
        return None
    prefix, _, kind = name.partition("-")
    return Label(kind, begins=prefix == "B") if kind and prefix in ("B", "I") else Label(name, begins=False)


def entities_of(text: str, tokens: Iterable[Tagged], *, threshold: float) -> tuple[Entity, ...]:
    """In the order of the text. A token below the threshold is outside; a span's score is the mean of its tokens'."""
    return tuple(_entity(text, span) for span in _spans(text, tokens, threshold))


def _spans(text: str, tokens: Iterable[Tagged], threshold: float) -> Iterator[list[Tagged]]:
    span: list[Tagged] = []
    for token in tokens:
        inside = token.label is not None and token.score >= threshold
        if span and not (inside and _goes_on(text, span[-1], token)):
            yield span
            span = []
        if inside:
            span.append(token)
    if span:
        yield span


def _goes_on(text: str, last: Tagged, token: Tagged) -> bool:
    """Only blanks may stand between. A new entity does not begin within a word, whatever its later pieces say."""
    if token.label is None or last.label is None or token.label.kind != last.label.kind:
        return False
    if token.word is not None and token.word == last.word:
        return True
    return not token.label.begins and not text[last.end : token.start].strip()


def _entity(text: str, span: Sequence[Tagged]) -> Entity:
    start, end = span[0].start, max(token.end for token in span)
    label = span[0].label
    assert label is not None
    score = sum(token.score for token in span) / len(span)
    return Entity(text[start:end], label.kind, min(score, 1.0), start, end)
