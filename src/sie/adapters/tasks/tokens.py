"""A label for each token, and the entities that they make, on an encoder: what is named in a text, and where.

A text of any length up to MAX_WINDOWS rows is read whole, in windows that overlap.
"""

from collections.abc import Iterable, Sequence
from typing import Self

import attrs
import jax
import numpy as np

from sie.adapters.api import (
    BadInput,
    ExtractedRow,
    ExtractInput,
    ModelSpec,
    NonFinite,
    Report,
    Timed,
    Vector,
)
from sie.adapters.families.fields import label_names
from sie.adapters.families.loading import find_checkpoint, open_network
from sie.adapters.stages import Head
from sie.adapters.tasks.entities import Label, Tagged, entities_of, parse_label
from sie.adapters.tasks.loaded import Loaded
from sie.adapters.tasks.options import fraction_of, refused
from sie.adapters.tasks.timing import Stopwatch
from sie.adapters.text import well_formed
from sie.adapters.tokenizing import Placed, placed_tokens
from sie.adapters.windows import Window, plan_windows
from sie.domain.errors import ErrorCode

MAX_WINDOWS = 128
"""Of one text. What is longer would keep the device from everybody else for seconds."""
_OVERLAP = 64
_THRESHOLD = 0.5


@attrs.frozen
class Text:
    """One input on its way: its tokens, and the windows that they are read in."""

    text: str
    placed: Placed
    windows: tuple[Window, ...]

    @property
    def sequences(self) -> Iterable[Sequence[int]]:
        placed = self.placed
        return ([*placed.before, *placed.ids[w.start : w.end], *placed.after] for w in self.windows)


@attrs.frozen(eq=False)
class TokenClassifier(Loaded):
    """An `Extractor` of the labels that its checkpoint was trained on. The runtime option is `threshold`."""

    _labels: tuple[Label | None, ...]
    _room: int
    _threshold: float

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        """Raises LoadFailed."""
        threshold = fraction_of(spec.runtime, "threshold", default=_THRESHOLD)
        found = find_checkpoint(spec, cache_dir=cache_dir, report=report)
        names = label_names(found.fields)
        network = open_network(found, head_of(len(names), found.config.hidden_size), cache_dir=cache_dir, report=report)
        found.tokenizer.no_truncation()
        room = found.max_length - found.tokenizer.num_special_tokens_to_add(is_pair=False)
        if room < 2:
            raise refused(f"max_sequence_length {found.max_length} has no room for windows")
        return cls(found.tokenizer, network, tuple(map(parse_label, names)), room, threshold)

    def extract(self, inputs: Sequence[ExtractInput]) -> Timed[ExtractedRow]:
        """Raises BadInput, NonFinite."""
        for one in inputs:
            self._check_labels(one.labels)
        watch = Stopwatch()
        texts = self.read([well_formed(one.text) for one in inputs])
        watch.tokenized()
        likelihoods = self.infer([sequence for text in texts for sequence in text.sequences])
        watch.inferred()
        rows: list[ExtractedRow] = []
        windows = iter(likelihoods)
        for one, text in zip(inputs, texts, strict=True):
            found = _joined(text, [next(windows) for _ in text.windows])
            rows.append(self._row(text, found, one.labels))
        return watch.timed(tuple(rows))

    def _check_labels(self, labels: tuple[str, ...] | None) -> None:
        known = sorted({label.kind for label in self._labels if label is not None})
        for label in labels or ():
            if label not in known:
                raise BadInput(f"label {label!r} is not one that this model knows; it knows {', '.join(known)}")

    def read(self, texts: Sequence[str]) -> list[Text]:
        """Raises BadInput."""
        overlap = min(_OVERLAP, self._room // 2)
        read = []
        for text, placed in zip(texts, placed_tokens(self._tokenizer, texts), strict=True):
            windows = plan_windows(len(placed.ids), room=self._room, overlap=overlap)
            if len(windows) > MAX_WINDOWS:
                limit = MAX_WINDOWS * (self._room - overlap)
                words = f"the text has {len(placed.ids)} tokens, and at most about {limit} are read"
                raise BadInput(words, ErrorCode.INPUT_TOO_LONG)
            read.append(Text(text, placed, windows))
        return read

    def infer(self, sequences: Sequence[Sequence[int]]) -> list[Vector]:
        """`[tokens, labels]` of each sequence, in their order."""
        found: dict[int, Vector] = {}
        for answers in self._network.run(sequences):
            for slot in answers.slots:
                end = slot.start + len(sequences[slot.index])
                found[slot.index] = likelihoods = answers.values[slot.row, slot.start : end]
                if not np.isfinite(likelihoods).all():
                    raise NonFinite(slot.index)
        return [found[index] for index in range(len(sequences))]

    def _row(self, text: Text, likelihoods: Vector, labels: tuple[str, ...] | None) -> ExtractedRow:
        best, scores = likelihoods.argmax(axis=1).tolist(), likelihoods.max(axis=1).tolist()
        tagged = (
            Tagged(self._labels[label], score, start, end, word)
            for label, score, (start, end), word in zip(best, scores, text.placed.spans, text.placed.words, strict=True)
        )
        entities = entities_of(text.text, tagged, threshold=self._threshold)
        wanted = tuple(entity for entity in entities if labels is None or entity.label in labels)
        return ExtractedRow(wanted, sum(map(len, text.sequences)))


def _joined(text: Text, windows: Sequence[Vector]) -> Vector:
    """The likelihoods of each of the text's own tokens, once."""
    first = len(text.placed.before)
    kept = (
        values[first + w.kept_from - w.start : first + w.kept_to - w.start]
        for w, values in zip(text.windows, windows, strict=True)
    )
    return np.concatenate(list(kept))


def head_of(labels: int, hidden: int) -> Head:
    shapes = {"classifier.weight": (labels, hidden), "classifier.bias": (labels,)}
    return Head(leave, made_from="token classifier", shapes=shapes)


def leave(weights: Sequence[jax.Array], states: jax.Array, _: jax.Array) -> jax.Array:
    """`[rows, length, labels]`: how likely each label is for each token."""
    classifier, bias = weights
    return jax.nn.softmax(states @ classifier.T + bias, axis=-1)
