"""Items to encode: what is asked for, checked against what the model gives, and the vectors as a reply tells them."""

from collections.abc import Iterable, Mapping
from typing import TypeGuard, get_args

import attrs
import numpy as np

from sie.adapters.api import BadInput, EncodedRow, EncodeInput, Encoder, OutputDtype, SparseVector, Vector
from sie.adapters.matryoshka import Resizable
from sie.backend.items import id_of, non_finite, options_of, text_of
from sie.backend.quantizing import quantized, sparse_dtype, told_dtype
from sie.domain.model import EncodeOutput
from sie.wire.codec import pack
from sie.wire.ipc import EncodeItem, ItemOutcome
from sie.wire.ndarray import array_to_wire

OUTPUT_DTYPES: tuple[OutputDtype, ...] = get_args(OutputDtype)


def read_encode(model: Encoder, item: EncodeItem) -> EncodeInput:
    """Raises BadInput, which names what exists."""
    for output in item.output_types or ():
        if output not in model.outputs:
            given = ", ".join(model.outputs)
            raise BadInput(f"output type {output!r} is not given by this model; it gives {given}")
    output_dtype_of(model, item)
    _check_dimensions(model, item)
    return EncodeInput(text_of(item.item), item.instruction, item.is_query)


def render_encoded(model: Encoder, item: EncodeItem, row: EncodedRow) -> ItemOutcome:
    dtype = output_dtype_of(model, item)
    asked = item.output_types or model.outputs[:1]
    row = attrs.evolve(row, dense=_resized(model, item, row.dense))
    told: dict[str, object] = {**id_of(item.item)}
    for output in (output for output in model.outputs if output in asked):
        values = _values(row, output)
        if not np.isfinite(values.values if isinstance(values, SparseVector) else values).all():
            return non_finite("a vector")
        told[output] = _told(output, values, dtype)
    return ItemOutcome(result_msgpack=pack(told), input_tokens=row.tokens)


def output_dtype_of(model: Encoder, item: EncodeItem) -> OutputDtype:
    """The request's, or else the profile's. Raises BadInput."""
    dtype = options_of(item).get("output_dtype")
    if dtype is None:
        return model.output_dtype
    if not _is_output_dtype(dtype):
        raise BadInput(f"output_dtype {dtype!r} does not exist; it is one of {', '.join(OUTPUT_DTYPES)}")
    return dtype


def _check_dimensions(model: Encoder, item: EncodeItem) -> None:
    asked = options_of(item).get("dimensions")
    if isinstance(model, Resizable):
        model.dense_sizes.choose(asked)
    elif asked is not None:
        raise BadInput(f"dimensions cannot be chosen here: the model gives {', '.join(model.outputs)} in one size")


def _resized(model: Encoder, item: EncodeItem, vector: Vector | None) -> Vector | None:
    """Of the size that was asked for."""
    if vector is None or not isinstance(model, Resizable):
        return vector
    return model.dense_sizes.cut(vector, model.dense_sizes.choose(options_of(item).get("dimensions")))


def _values(row: EncodedRow, output: EncodeOutput) -> Vector | SparseVector:
    found: Mapping[EncodeOutput, Vector | SparseVector | None]
    found = {"dense": row.dense, "sparse": row.sparse, "multivector": row.multivector}
    values = found[output]
    if values is None:
        raise RuntimeError(f"the adapter says that it gives {output}, and gave none")
    return values


def _told(output: EncodeOutput, values: Vector | SparseVector, dtype: OutputDtype) -> Mapping[str, object]:
    if isinstance(values, SparseVector):
        own = sparse_dtype(dtype)
        return {
            "dims": values.dims,
            "dtype": own,
            "indices": array_to_wire(values.indices),
            "values": array_to_wire(quantized(values.values, own)),
        }
    sizes = {"dims": len(values)} if output == "dense" else _sizes(values)
    return {**sizes, "dtype": told_dtype(dtype), "values": array_to_wire(quantized(values, dtype))}


def _sizes(vectors: Vector) -> Mapping[str, int]:
    num_tokens, token_dims = vectors.shape
    return {"token_dims": token_dims, "num_tokens": num_tokens}


def _is_output_dtype(value: object) -> TypeGuard[OutputDtype]:
    known: Iterable[object] = OUTPUT_DTYPES
    return any(value == one for one in known)
