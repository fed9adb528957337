"""Weights of an ONNX file come back as they were quantised; any other bytes are told to be malformed."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.onnx import read_graph, weights_of
from sie.adapters.protobuf import Malformed


def varint(number: int) -> bytes:
    high = number >> 7
    return bytes([number & 127 | 128]) + varint(high) if high else bytes([number])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name: str, kind: int, dims: Iterable[int], raw: bytes) -> bytes:
    sizes = b"".join(number(1, size) for size in dims)
    return block(5, sizes + number(2, kind) + block(8, name.encode()) + block(9, raw))


def model(*parts: bytes) -> memoryview:
    return memoryview(block(7, b"".join(parts)))


def node(outputs: int, inputs: int) -> bytes:
    sizes = {"K": inputs, "N": outputs, "bits": 4, "block_size": 32}
    attributes = b"".join(block(5, block(1, name.encode()) + number(3, size)) for name, size in sizes.items())
    names = b"".join(block(1, name) for name in (b"states", b"q4", b"scales"))
    return block(1, names + block(3, b"/bert/pooler/dense/MatMul_Q4") + block(4, b"MatMulNBits") + attributes)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_four_bits_are_dequantised_block_by_block(outputs: int, blocks: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, 16, (outputs, blocks, 32), dtype=np.uint8)
    scales = random.normal(size=(outputs, blocks)).astype(np.float32)
    packed = values[..., ::2] | values[..., 1::2] << 4
    weights = weights_of(
        read_graph(
            model(
                node(outputs, blocks * 32),
                tensor("q4", 2, packed.shape, packed.tobytes()),
                tensor("scales", 1, (outputs * blocks,), scales.tobytes()),
            )
        )
    )
    wanted = ((values.astype(np.float32) - 8) * scales[..., None]).reshape(outputs, blocks * 32)
    assert list(weights) == ["bert.pooler.dense.weight"]
    assert np.array_equal(weights["bert.pooler.dense.weight"], wanted)


@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=9))
def test_plain_floats_come_as_they_are(row: list[float]) -> None:
    values = np.array(row, np.float32)
    weights = weights_of(read_graph(model(tensor("a.bias", 1, values.shape, values.tobytes()))))
    assert weights["a.bias"].tolist() == values.tolist()


def test_bytes_are_an_embedding_with_one_scale_and_one_zero_point() -> None:
    parts = (
        tensor("e_quantized", 2, (2, 2), bytes([0, 128, 130, 255])),
        tensor("e_scale", 1, (), np.float32(0.5).tobytes()),
        tensor("e_zero_point", 2, (), bytes([128])),
    )
    assert weights_of(read_graph(model(*parts)))["e"].tolist() == [[-64.0, 0.0], [1.0, 63.5]]


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_read_or_told_to_be_malformed(data: bytes, is_graph: bool) -> None:
    try:
        graph = read_graph(model(data) if is_graph else memoryview(data))
    except Malformed:
        return
    assert all(tensor.dtype in (np.float32, np.uint8) for tensor in graph.tensors.values())


@pytest.mark.parametrize("parts", [(node(1, 32),), (node(1, 33), tensor("q4", 2, (1,), b"1"))], ids=["absent", "odd"])
def test_a_matrix_that_is_not_there_or_of_no_size_is_told(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(Malformed):
        weights_of(read_graph(model(*parts)))
