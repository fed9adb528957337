"""Is this a JSON value that every peer can read? What YAML and Python hold beyond it is refused with its place.

JSON here has integers of 64 bits, finite numbers, text without lone surrogates, and a bound on how deep it nests.
"""

import math
import re
from collections.abc import Mapping
from typing import TypeGuard

from sie.domain.model import Json
from sie.wire.converters import WireError

MAX_NESTING = 64
"""Levels of maps and lists in one document: far more than any needs, far fewer than exhaust the stack."""
INT_MIN, INT_MAX = -(2**63), 2**64 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


def as_json(value: object, *loc: str | int) -> Json:
    """The same value. Raises WireError with the place."""
    return value if _is_json(value, MAX_NESTING - len(loc)) else _checked(value, *loc)


def _is_json(value: object, levels: int) -> TypeGuard[Json]:
    """In the types that parsers make, which nearly every value has: no place is kept, so it is quick."""
    if isinstance(value, str):
        return _is_text(value)
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return INT_MIN <= value <= INT_MAX
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return levels > 0 and all(map(_is_text, value)) and all(_is_json(item, levels - 1) for item in value.values())
    return isinstance(value, list) and levels > 0 and all(_is_json(item, levels - 1) for item in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value))


def _checked(value: object, *loc: str | int) -> Json:
    match value:
        case str():
            return checked_text(value, *loc)
        case None | bool():
            return value
        case int():
            return checked_int(value, *loc)
        case float():
            return checked_float(value, *loc)
        case list():
            check_depth(*loc)
            return [_checked(item, *loc, index) for index, item in enumerate(value)]
        case Mapping():
            check_depth(*loc)
            return {_key(key, loc): _checked(item, *loc, str(key)) for key, item in value.items()}
        case _:
            raise WireError.at(*loc, message=f"a {type(value).__name__} is no JSON value")


def check_depth(*loc: str | int) -> None:
    """May a map or list stand there?"""
    if len(loc) >= MAX_NESTING:
        raise WireError.at(*loc, message=f"is nested more than {MAX_NESTING} deep")


def checked_int(value: int, *loc: str | int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise WireError.at(*loc, message="an integer must fit in 64 bits")
    return value


def checked_float(value: float, *loc: str | int) -> float:
    if not math.isfinite(value):
        raise WireError.at(*loc, message=f"{value} is no JSON number")
    return value


def checked_text(value: str, *loc: str | int) -> str:
    if not value.isascii() and _SURROGATE.search(value):
        raise WireError.at(*loc, message="a string must not hold lone surrogates")
    return value


def _key(key: object, loc: tuple[str | int, ...]) -> str:
    if not isinstance(key, str):
        raise WireError.at(*loc, message=f"the key {key!r} must be a string")
    return checked_text(key, *loc)
