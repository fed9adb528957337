"""The published bytes of one array (wire-facts 1.4): a peer that reads msgpack-numpy finds exactly these."""

import numpy as np

from sie.wire.codec import pack
from sie.wire.ndarray import array_to_wire

GOLDEN = bytes.fromhex(
    "85"  # a map of five
    "c4026e64 c3"  # b"nd": true
    "c40474797065 a33c6634"  # b"type": "<f4"
    "c4046b696e64 c400"  # b"kind": b""
    "c4057368617065 9102"  # b"shape": [2]
    "c40464617461 c408 0000803f 000000c0"  # b"data": 1.0, -2.0
)


def test_two_float32_have_the_published_bytes() -> None:
    assert pack(array_to_wire(np.array([1.0, -2.0], dtype="<f4"))) == GOLDEN
