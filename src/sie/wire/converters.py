"""Strict structuring of outside data into attrs classes: right JSON types only, and every problem with its place.

cattrs by itself turns `1` into `"1"` and `"no"` into `True`; a wire format must refuse both.
There is one converter per strictness, built once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, ForbiddenExtraKeysError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn

T = TypeVar("T")


@attrs.frozen
class Problem:
    """One thing wrong, at `loc`: the keys and indexes from the top of the document."""

    loc: tuple[str | int, ...]
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.loc))}: {self.message}" if self.loc else self.message


class WireError(ValueError):
    """Outside data that does not have the shape it must have. Nothing of it was taken."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)

    @classmethod
    def at(cls, *loc: str | int, message: str) -> Self:
        return cls([Problem(loc, message)])


def _strict(kind: type[T], *allowed: type) -> Any:
    def structure(value: Any, _: Any) -> Any:
        if isinstance(value, (kind, *allowed)) and (kind is bool or not isinstance(value, bool)):
            return value
        raise TypeError(f"must be {_NAMES[kind]}, not {kind_of(value)}")

    return structure


def kind_of(value: object) -> str:
    """What JSON calls it, for messages."""
    return _NAMES.get(type(value), type(value).__name__)


_NAMES: Mapping[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    bytes: "bytes",
    dict: "a map",
    list: "a list",
    type(None): "null",
}


def make_converter(*, forbid_extra_keys: bool) -> cattrs.Converter:
    """A converter of plain JSON-like values; `forbid_extra_keys` for documents that people write."""
    converter = cattrs.Converter(forbid_extra_keys=forbid_extra_keys)
    converter.register_structure_hook(str, _strict(str))
    converter.register_structure_hook(int, _strict(int))
    converter.register_structure_hook(float, _strict(float, int))
    converter.register_structure_hook(bool, _strict(bool))
    converter.register_structure_hook(bytes, _strict(bytes))
    converter.register_structure_hook_func(lambda cls: cls is object, lambda value, _: value)
    converter.register_structure_hook_func(_is_literal, _one_of)
    converter.register_structure_hook_factory(attrs.has, lambda cls: _map_only(converter, cls))
    converter.register_structure_hook_factory(_is_sequence, lambda cls: _list_only(converter, cls))
    converter.register_structure_hook_factory(_is_mapping, lambda cls: _named_map(converter, cls))
    return converter


def structure(converter: cattrs.Converter, value: object, cls: type[T]) -> T:
    """Raises WireError, which lists every problem with its place."""
    try:
        return converter.structure(value, cls)
    except Exception as error:  # cattrs wraps whatever a hook raised; all of it is about the value
        raise WireError(sorted(_problems(error, ()), key=lambda p: tuple(map(str, p.loc)))) from error


def _map_only(converter: cattrs.Converter, cls: type[Any]) -> Any:
    structure_map = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=converter.forbid_extra_keys)

    def structure_checked(value: Any, kind: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"must be a map, not {kind_of(value)}")
        return structure_map(value, kind)

    return structure_checked


def _is_literal(cls: Any) -> bool:
    return get_origin(cls) is Literal


def _one_of(value: Any, cls: Any) -> Any:
    if isinstance(value, str) and value in get_args(cls):
        return value
    raise ValueError(f"must be one of {', '.join(map(str, get_args(cls)))}, not {value!r}")


def _is_sequence(cls: Any) -> bool:
    return getattr(cls, "__origin__", None) is tuple and getattr(cls, "__args__", ())[-1:] == (...,)


def _is_mapping(cls: Any) -> bool:
    return getattr(cls, "__origin__", None) is Mapping


def _named_map(converter: cattrs.Converter, cls: Any) -> Any:
    """`Mapping[K, V]` from a map, checked to be one first, with a dict as the result."""
    key, item = cls.__args__
    as_dict = dict[key, item]  # type: ignore[valid-type]  # the types are known at run time only

    def structure_checked(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"must be a map, not {kind_of(value)}")
        return converter.structure(value, as_dict)

    return structure_checked


def _list_only(converter: cattrs.Converter, cls: Any) -> Any:
    """`tuple[T, ...]` from a list; a string is a sequence too, and never what is meant."""
    item = cls.__args__[0]
    as_list = list[item]  # type: ignore[valid-type]  # the item type is known at run time only

    def structure_checked(value: Any, _: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"must be a list, not {kind_of(value)}")
        return tuple(converter.structure(value, as_list))

    return structure_checked


def _problems(error: BaseException, loc: tuple[str | int, ...]) -> list[Problem]:
    if isinstance(error, ForbiddenExtraKeysError):
        return [Problem((*loc, key), "unknown field") for key in sorted(map(str, error.extra_fields))]
    if isinstance(error, BaseExceptionGroup):
        return [p for inner in error.exceptions for p in _problems(inner, (*loc, *_place(inner)))]
    if isinstance(error, KeyError):
        return [Problem((*loc, str(error.args[0])), "is required")]
    return [Problem(loc, str(error))]


def _place(error: BaseException) -> tuple[str | int, ...]:
    """cattrs notes on each inner error where it belongs; a missing key names itself."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return () if isinstance(error, KeyError) else (note.name,)
        if isinstance(note, IterableValidationNote):
            return (note.index,)
    return ()


TOLERANT = make_converter(forbid_extra_keys=False)
"""For what services send each other: unknown keys are a newer peer's, and are ignored."""
EXACT = make_converter(forbid_extra_keys=True)
"""For documents that people write: an unknown key is a mistake to be told."""
