"""The one text that a JSON value has when it is hashed (§7): keys sorted, no spaces, non-ASCII kept.

Floats are as orjson 3.13 writes them (up to 3.11 it wrote `1e16` for `1e+16`). Spelled out here because `json.dumps`
writes small ones differently (`1e-05` for `0.00001`, `1e-07` for `1e-7`) and hashes must agree to the byte.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring as canonical_string

from sie.domain.model import Json

__all__ = ["canonical_json", "canonical_string"]

_LEAST_PLAIN_EXPONENT = -5
"""Below it orjson changes to exponents; Python does so one earlier."""
_WORDS: Mapping[bool | None, str] = {None: "null", True: "true", False: "false"}


def canonical_json(value: Json) -> str:
    """Raises TypeError for what is no JSON value."""
    # The commonest first: this runs over every option of every model of a catalogue.
    match value:
        case str():
            return canonical_string(value)
        case None | bool():
            return _WORDS[value]
        case int():
            return int.__repr__(value)
        case float():
            return _float(value)
        case Mapping() if all(isinstance(key, str) for key in value):
            return (
                "{" + ",".join([f"{canonical_string(key)}:{canonical_json(value[key])}" for key in sorted(value)]) + "}"
            )
        case Sequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            return "[" + ",".join(map(canonical_json, value)) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON value")


def _float(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text
    return format(Decimal(text), "f") if int(exponent) == _LEAST_PLAIN_EXPONENT else f"{mantissa}e{int(exponent):+d}"
