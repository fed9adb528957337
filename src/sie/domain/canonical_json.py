"""The one text that a JSON value has when it is hashed (§7): keys sorted, no spaces, non-ASCII kept.

Floats are as orjson writes them. Spelled out here because `json.dumps` writes exponents differently
(`1e+16` for `1e16`) and hashes must agree to the byte.
"""

import json
import math
from collections.abc import Mapping, Sequence

from sie.domain.model import Json


def canonical_json(value: Json) -> str:
    """Raises TypeError for what is no JSON value."""
    match value:
        case None | bool() | int() | str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return _float(value)
        case Mapping():
            members = (f"{canonical_json(key)}:{canonical_json(value[key])}" for key in sorted(value))
            return "{" + ",".join(members) + "}"
        case Sequence():
            return "[" + ",".join(map(canonical_json, value)) + "]"
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _float(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa
