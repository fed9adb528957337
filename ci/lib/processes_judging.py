"""Is the final answer of a request the right one? Its vectors are compared with those of its texts; pure.

An answer that is not right but refuses with a code after which clients ask again counts as refused: what a broker that
forgets may cost.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from ci.lib.processes_asking import Ask
from ci.lib.processes_http import Answer
from ci.lib.processes_retry import code_of, document_of, reason_of
from sie.wire.converters import WireError
from sie.wire.ndarray import array_from_wire

TOLERANCE = 2e-6
"""Between two batches that a text can be in."""
APART = 1e-2
"""The least distance of two texts' vectors: a mix-up of them is seen."""

Verdict = Literal["right", "left", "refused", "wrong"]
Vectors = NDArray[np.float32]


@attrs.frozen
class Judged:
    """`said` is the status and code of the answer that counts."""

    verdict: Verdict
    said: str


def judge(ask: Ask, answer: Answer | None, right: Vectors) -> Judged:
    """`right[place]` is the vector of a text. `answer` None: the connection was lost until the client gave up."""
    if answer is None:
        return Judged("refused", "lost")
    said = f"{answer.status} {code_of(answer)}".rstrip()
    if _is_right(ask, answer, right):
        return Judged("right", said)
    return Judged("refused" if reason_of(answer) is not None else "wrong", said)


def _is_right(ask: Ask, answer: Answer, right: Vectors) -> bool:
    match ask.kind:
        case "unknown":
            return (answer.status, code_of(answer)) == (404, "MODEL_NOT_FOUND")
        case "broken":
            return (answer.status, code_of(answer)) == (400, "INVALID_INPUT")
        case _:
            vectors = vectors_of(answer)
            return vectors is not None and are_those(vectors, right[list(ask.texts)])


def are_those(vectors: Vectors, expected: Vectors) -> bool:
    return vectors.shape == expected.shape and bool(np.allclose(vectors, expected, rtol=0, atol=TOLERANCE))


def vectors_of(answer: Answer) -> Vectors | None:
    """`[items, dims]`; None where the answer is no success, or cannot be read as one."""
    items = document_of(answer).get("items") if answer.status == 200 else None
    if not isinstance(items, list) or not items:
        return None
    rows = [_row(item) for item in items]
    found = [row for row in rows if row is not None]
    return np.stack(found) if len(found) == len(rows) and len({row.shape for row in found}) == 1 else None


def _row(item: object) -> Vectors | None:
    dense = item.get("dense") if isinstance(item, Mapping) else None
    values = dense.get("values") if isinstance(dense, Mapping) else None
    try:
        row = array_from_wire(values) if isinstance(values, Mapping) else np.asarray(values)
    except WireError:
        return None
    return row.astype(np.float32) if row.dtype.kind == "f" and row.ndim == 1 else None


def least_distance(vectors: Vectors) -> float:
    """Of any two, by their largest difference in one place."""
    distances = [np.abs(vectors[place + 1 :] - vector).max(axis=1).min() for place, vector in enumerate(vectors[:-1])]
    return float(min(distances))


def share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def quantile(values: Sequence[float], q: float) -> float | None:
    return round(float(np.quantile(values, q)), 3) if values else None
