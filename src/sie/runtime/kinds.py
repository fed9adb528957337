"""What a setting's text may be: one parser for each annotation that a settings class can have."""

import math
import types
import typing
from collections.abc import Callable, Mapping

import attrs

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off", ""})


@attrs.frozen
class Kind:
    """`parse` takes a string, or what YAML made of it, and raises ValueError or TypeError; `name` is for messages."""

    name: str
    parse: Callable[[object], object]
    optional: bool = False
    is_flag: bool = False
    is_list: bool = False


def kind_of(annotation: object) -> Kind:
    """str, int, float, bool, tuple[str, ...], a Literal of strings, or one of them `| None`."""
    if isinstance(annotation, types.UnionType):
        inner = next(arg for arg in typing.get_args(annotation) if arg is not type(None))
        return attrs.evolve(kind_of(inner), optional=True)
    if typing.get_origin(annotation) is typing.Literal:
        words = tuple(map(str, typing.get_args(annotation)))
        return Kind(" or ".join(words), lambda value: _one_of(words, value))
    return _KINDS[annotation]


def shown(value: object) -> str:
    """The text that parses back to the value."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _text(value: object) -> str:
    """A file's null, list, map, or bare yes and no is not the text that its writer meant."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(value)
    return str(value).strip()


def _bool(value: object) -> bool:
    text = shown(value) if isinstance(value, bool) else _text(value).lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(text)
    return text in _TRUE


def _int(value: object) -> int:
    return int(_text(value))


def _float(value: object) -> float:
    number = float(_text(value))
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _words(value: object) -> tuple[str, ...]:
    parts = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(word for part in parts for piece in _text(part).split(",") if (word := piece.strip()))


def _one_of(words: tuple[str, ...], value: object) -> str:
    text = _text(value)
    if text not in words:
        raise ValueError(text)
    return text


_KINDS: Mapping[object, Kind] = {
    str: Kind("a string", _text),
    int: Kind("an integer", _int),
    float: Kind("a number", _float),
    bool: Kind("true or false", _bool, is_flag=True),
    tuple[str, ...]: Kind("a comma-separated list", _words, is_list=True),
}
