"""What a simulated model answers: numbers that tell by which model and of which text they are; a mix-up shows."""

import zlib

from sie.wire.codec import pack
from sie.wire.ipc import EncodeItem, ItemOutcome

BROKEN = "broken:"
"""How a text begins that the model fails on, every time."""
FATAL = "fatal:"
"""How a text begins that takes the backend process down, every time."""
BIG = "big:"
"""How a text begins, after the others, whose result fits no message of the broker."""
BIG_BYTES = 9000
PAD = "~"
"""What makes a text long; nobody is told of it."""


def vector(serving_id: str, text: str) -> list[float]:
    """Whole numbers that float32 and JSON keep."""
    return [float(zlib.crc32(f"{serving_id}\0{text}".encode()) >> 8), float(zlib.crc32(text.encode()) >> 8)]


def is_innocent(text: str) -> bool:
    """Is it an input that a model answers?"""
    return not text.startswith((BROKEN, FATAL))


def outcome(serving_id: str, item: EncodeItem) -> ItemOutcome:
    text = text_of(item)
    if text.startswith(BROKEN):
        return ItemOutcome(error_code="inference_error", error=f"cannot read {text}")
    dense = {"dims": 2, "dtype": "float32", "values": vector(serving_id, text)}
    body: dict[str, object] = {"id": item.item.get("id"), "dense": dense}
    if BIG in text:
        body["note"] = "x" * BIG_BYTES
    return ItemOutcome(result_msgpack=pack(body), input_tokens=2)


def text_of(item: EncodeItem) -> str:
    """Without what makes it long."""
    return known_as(str(item.item.get("text")))


def known_as(text: str) -> str:
    return text.rstrip(PAD)
