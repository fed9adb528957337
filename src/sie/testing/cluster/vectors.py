"""What a simulated model answers: numbers that tell by which model and of which text they are; a mix-up shows."""

import zlib

from sie.wire.codec import pack
from sie.wire.ipc import EncodeItem, ItemOutcome

BROKEN = "broken:"
"""How a text begins that the model fails on, every time."""
FATAL = "fatal:"
"""How a text begins that takes the backend process down, every time."""


def vector(serving_id: str, text: str) -> list[float]:
    """Whole numbers that float32 and JSON keep."""
    return [float(zlib.crc32(f"{serving_id}\0{text}".encode()) >> 8), float(zlib.crc32(text.encode()) >> 8)]


def outcome(serving_id: str, item: EncodeItem) -> ItemOutcome:
    text = text_of(item)
    if text.startswith(BROKEN):
        return ItemOutcome(error_code="inference_error", error=f"cannot read {text}")
    dense = {"dims": 2, "dtype": "float32", "values": vector(serving_id, text)}
    return ItemOutcome(result_msgpack=pack({"id": item.item.get("id"), "dense": dense}), input_tokens=2)


def text_of(item: EncodeItem) -> str:
    return str(item.item.get("text"))
