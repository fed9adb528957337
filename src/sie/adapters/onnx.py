"""The weights in an ONNX file as float32, under the names that the checkpoint had before it was exported.

What is read: plain float32, `MatMulNBits` of 4 bits (blocks along the inputs, low nibble first, 8 is zero) and
embeddings in uint8 with one scale and zero point. A matrix has lost its name; the node that multiplies by it has it.
"""

from collections.abc import Mapping
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from sie.adapters.api import LoadFailed
from sie.adapters.protobuf import Malformed, fields, integers, text

_GRAPH, _NODE, _INITIALIZER = 7, 1, 5  # of ModelProto, and of GraphProto
_INPUT, _NAME, _OPERATOR, _ATTRIBUTE = 1, 3, 4, 5  # of NodeProto
_ATTRIBUTE_NAME, _ATTRIBUTE_INT = 1, 3
_FLOAT, _UINT8 = 1, 2  # of TensorProto.DataType
_ZERO_OF_4_BITS = 8

Tensor = NDArray[np.float32] | NDArray[np.uint8]


@attrs.frozen
class Node:
    name: str
    operator: str
    inputs: tuple[str, ...]
    sizes: Mapping[str, int]


@attrs.frozen
class Graph:
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]


def read_onnx(path: Path) -> Mapping[str, NDArray[np.float32]]:
    """Raises LoadFailed."""
    try:
        return weights_of(read_graph(memoryview(path.read_bytes())))
    except OSError as error:
        raise LoadFailed(f"{path} cannot be read: {error}", error_class="STORAGE", permanent=False) from error
    except Malformed as error:
        raise LoadFailed(f"{path} cannot be used: {error}", error_class="CONFIG", permanent=True) from error


def weights_of(graph: Graph) -> Mapping[str, NDArray[np.float32]]:
    """Raises Malformed."""
    rest = dict(graph.tensors)
    weights: dict[str, NDArray[np.float32]] = {}
    for node in graph.nodes:
        if node.operator == "MatMulNBits":
            packed, scales = (_taken(rest, name) for name in node.inputs[1:3])
            weights[f"{_module(node.name)}.weight"] = _from_4_bits(packed, scales, node)
    for name in [name for name in rest if name.endswith("_quantized")]:
        stem = name.removesuffix("_quantized")
        values, scale, zero = (_taken(rest, f"{stem}_{part}") for part in ("quantized", "scale", "zero_point"))
        weights[stem] = (values.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)
    return weights | {name: tensor.astype(np.float32) for name, tensor in rest.items()}


def read_graph(model: memoryview) -> Graph:
    """Raises Malformed."""
    graphs = [field.value for field in fields(model) if field.number == _GRAPH]
    if not graphs or isinstance(graphs[0], int):
        raise Malformed("it has no graph")
    nodes: list[Node] = []
    tensors: dict[str, Tensor] = {}
    for field in fields(graphs[0]):
        if field.number == _NODE and not isinstance(field.value, int):
            nodes.append(_node(field.value))
        elif field.number == _INITIALIZER and not isinstance(field.value, int):
            name, tensor = _tensor(field.value)
            tensors[name] = tensor
    return Graph(tuple(nodes), tensors)


def _node(message: memoryview) -> Node:
    found = list(fields(message))
    inputs = tuple(text(field.value) for field in found if field.number == _INPUT)
    name = next((text(field.value) for field in found if field.number == _NAME), "")
    operator = next((text(field.value) for field in found if field.number == _OPERATOR), "")
    attributes = (field.value for field in found if field.number == _ATTRIBUTE)
    sizes = dict(_size(attribute) for attribute in attributes if not isinstance(attribute, int))
    return Node(name, operator, inputs, sizes)


def _size(attribute: memoryview) -> tuple[str, int]:
    """0 for one that is no number."""
    name, size = "", 0
    for field in fields(attribute):
        if field.number == _ATTRIBUTE_NAME:
            name = text(field.value)
        elif field.number == _ATTRIBUTE_INT and isinstance(field.value, int):
            size = field.value
    return name, size


def _tensor(message: memoryview) -> tuple[str, Tensor]:
    """Its numbers are raw bytes, or of a few floats or small integers in fields of their own."""
    name, kind, dims, raw = "", 0, list[int](), bytearray()
    for field in fields(message):
        match field.number, field.value:
            case 1, value:
                dims += integers(value)
            case 2, int(value):
                kind = value
            case 4 | 9, memoryview() as value:
                raw += value
            case 5, value:
                raw += bytes(integers(value))
            case 8, value:
                name = text(value)
            case _:
                pass
    if kind not in (_FLOAT, _UINT8):
        raise Malformed(f"{name} is of type {kind}, which is not read")
    try:
        if kind == _FLOAT:
            return name, np.frombuffer(raw, np.float32).reshape(dims)
        return name, np.frombuffer(raw, np.uint8).reshape(dims)
    except (ValueError, OverflowError) as error:
        raise Malformed(f"{name} is not {dims}: {error}") from error


def _taken(tensors: dict[str, Tensor], name: str) -> Tensor:
    if name not in tensors:
        raise Malformed(f"it has no {name}")
    return tensors.pop(name)


def _module(node: str) -> str:
    """`/bert/encoder/layer.0/attention/self/query/MatMul_Q4` is in `bert.encoder.layer.0.attention.self.query`."""
    return node.strip("/").rpartition("/")[0].replace("/", ".")


def _from_4_bits(packed: Tensor, scales: Tensor, node: Node) -> NDArray[np.float32]:
    """`packed [outputs, blocks, bytes]` to `[outputs, inputs]`."""
    inputs, outputs, block = (node.sizes.get(name, 0) for name in ("K", "N", "block_size"))
    is_read = node.sizes.get("bits") == 4 and len(node.inputs) == 3 and block > 0 and inputs % block == 0
    if not is_read or packed.dtype != np.uint8:
        raise Malformed(f"{node.name} is quantised in a way that is not read")
    packed, blocks = packed.astype(np.uint8, copy=False), inputs // block
    if packed.shape != (outputs, blocks, block // 2) or scales.size != outputs * blocks:
        raise Malformed(f"{node.name} has {packed.shape} and {scales.size} scales for {outputs} times {inputs}")
    nibbles = np.stack((packed & 15, packed >> 4), axis=-1).reshape(outputs, blocks, block)
    values = (nibbles.astype(np.float32) - _ZERO_OF_4_BITS) * scales.reshape(outputs, blocks, 1).astype(np.float32)
    return values.reshape(outputs, inputs)
