"""Is the field of a document what it must be? Each reader takes it out of `left`; what remains is the value's `rest`.

A field that is null or missing is None, or empty: the API server writes both.
"""

from collections.abc import Mapping

from sie.kube.core.times import read_time
from sie.kube.core.values import Document
from sie.wire.converters import WireError

Left = dict[str, object]


def as_map(value: object, *loc: str) -> Document:
    """Raises WireError, as all of these do."""
    if not isinstance(value, Mapping):
        raise WireError.at(*loc, message="must be a map")
    return value


def take_map(left: Left, key: str) -> Document:
    value = left.pop(key, None)
    return {} if value is None else as_map(value, key)


def take_words(left: Left, key: str) -> Mapping[str, str]:
    words = take_map(left, key)
    if not all(isinstance(word, str) for word in words.values()):
        raise WireError.at(key, message="must hold strings")
    return {name: str(word) for name, word in words.items()}


def take_text(left: Left, key: str) -> str | None:
    value = left.pop(key, None)
    if value is None or isinstance(value, str):
        return value
    raise WireError.at(key, message="must be a string")


def take_int(left: Left, key: str) -> int | None:
    value = left.pop(key, None)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise WireError.at(key, message="must be an integer")


def take_time(left: Left, key: str) -> float | None:
    text = take_text(left, key)
    try:
        return None if text is None else read_time(text)
    except ValueError as error:
        raise WireError.at(key, message=str(error)) from error


def given(**fields: object) -> Document:
    """Those that are neither None nor empty."""
    return {name: value for name, value in fields.items() if value is not None and value != {}}
