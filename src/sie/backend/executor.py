"""One batch on a loaded model: each item checked, the valid ones encoded together, one outcome for each (§16.2).

Runs in a thread. An item that the model fails on does not fail its neighbours: the batch is run again one by one.
"""

import logging
from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from sie.adapters.api import Encoded, EncodedRow, EncodeInput, Encoder
from sie.domain.errors import ErrorCode
from sie.wire.codec import pack
from sie.wire.ipc import EncodeBatch, EncodeItem, Finished, ItemOutcome
from sie.wire.ndarray import array_to_wire

log = logging.getLogger(__name__)

OUTPUTS = ("dense",)
DTYPES = ("float32",)
MAX_WORDS = 500
"""Of an adapter's own error text in a reply."""


class InvalidItem(Exception):
    """What is wrong with an item, in words for the client."""


@attrs.frozen
class Times:
    """Milliseconds, summed over the calls that a batch took."""

    tokenization_ms: float = 0.0
    inference_ms: float = 0.0
    postprocessing_ms: float = 0.0

    def plus(self, encoded: Encoded) -> "Times":
        return Times(
            self.tokenization_ms + encoded.tokenization_ms,
            self.inference_ms + encoded.inference_ms,
            self.postprocessing_ms + encoded.postprocessing_ms,
        )


def run_batch(encoder: Encoder, batch: EncodeBatch) -> Finished:
    outcomes: dict[int, ItemOutcome] = {}
    inputs: dict[int, EncodeInput] = {}
    for index, item in enumerate(batch.items):
        try:
            inputs[index] = read_input(item)
        except InvalidItem as error:
            outcomes[index] = ItemOutcome(error_code=ErrorCode.INVALID_INPUT, error=str(error))
    ran, times = _encode_all(encoder, list(inputs.values()))
    for index, row in zip(inputs, ran, strict=True):
        outcomes[index] = _finished(batch.items[index], row) if isinstance(row, EncodedRow) else row
    return Finished(
        id=batch.id, outcomes=tuple(outcomes[index] for index in range(len(batch.items))), **attrs.asdict(times)
    )


def read_input(item: EncodeItem) -> EncodeInput:
    """Raises InvalidItem, which names what exists."""
    for output in item.output_types or ():
        if output not in OUTPUTS:
            raise InvalidItem(f"output type {output!r} is not given by this model; it gives {', '.join(OUTPUTS)}")
    dtype = (item.options or {}).get("output_dtype", DTYPES[0])
    if dtype not in DTYPES:
        raise InvalidItem(f"output_dtype {dtype!r} is not given by this model; it gives {', '.join(DTYPES)}")
    text = item.item.get("text")
    if not isinstance(text, str):
        raise InvalidItem(f"an item must have a string under 'text'; this one has {_keys(item.item)}")
    return EncodeInput(text, item.instruction, item.is_query)


def _encode_all(encoder: Encoder, inputs: Sequence[EncodeInput]) -> tuple[Sequence[EncodedRow | ItemOutcome], Times]:
    if not inputs:
        return (), Times()
    try:
        encoded = encoder.encode(inputs)
    except Exception as error:  # whatever an adapter raises is an answer to its caller, not the end of the process
        log.exception("a batch failed in its adapter", extra={"items": len(inputs)})
        return _encode_each(encoder, inputs) if len(inputs) > 1 else ((_failed(error),), Times())
    return encoded.rows, Times().plus(encoded)


def _encode_each(encoder: Encoder, inputs: Sequence[EncodeInput]) -> tuple[Sequence[EncodedRow | ItemOutcome], Times]:
    rows: list[EncodedRow | ItemOutcome] = []
    times = Times()
    for one in inputs:
        try:
            encoded = encoder.encode([one])
        except Exception as error:  # as above: the outcome of this one item
            rows.append(_failed(error))
        else:
            rows += encoded.rows
            times = times.plus(encoded)
    return rows, times


def _finished(item: EncodeItem, row: EncodedRow) -> ItemOutcome:
    """A vector that is not finite is a fault of the model, never an answer."""
    if not np.isfinite(row.dense).all():
        return ItemOutcome(error_code=ErrorCode.INFERENCE_ERROR, error="the model gave a vector with NaN or infinity")
    dense = {"dims": len(row.dense), "dtype": DTYPES[0], "values": array_to_wire(row.dense)}
    blob = pack({**_id(item.item), "dense": dense})
    return ItemOutcome(result_msgpack=blob, input_tokens=row.tokens)


def _failed(error: Exception) -> ItemOutcome:
    words = f"{type(error).__name__}: {error}"[:MAX_WORDS]
    exhausted = isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in words
    code = ErrorCode.RESOURCE_EXHAUSTED if exhausted else ErrorCode.INFERENCE_ERROR
    return ItemOutcome(error_code=code, error=words)


def _id(item: Mapping[str, object]) -> Mapping[str, object]:
    """The client's own id comes back as it was given, and is left out where there was none (wire-facts 1.3)."""
    return {"id": item["id"]} if isinstance(item.get("id"), str) else {}


def _keys(item: Mapping[str, object]) -> str:
    return ", ".join(map(repr, item)) or "nothing"
