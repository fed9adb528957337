"""How the tests of several formats ask for a refusal and read it."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from sie.wire.codec import pack, unpack
from sie.wire.converters import Problem, WireError

T = TypeVar("T")


def problems_of(read: Callable[[T], object], data: T) -> tuple[Problem, ...]:
    """The problems that reading tells; none where it refuses nothing."""
    try:
        read(data)
    except WireError as error:
        return error.problems
    return ()


def with_each_field_wrong(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The same map once for each of its keys, with a value there that has another type."""
    written = unpack(data)
    assert isinstance(written, dict)
    for name, value in written.items():
        yield name, pack({**written, name: wrong(value)})


def wrong(value: object) -> object:
    """A value that no field takes which takes this one; what may be null takes anything but true or false."""
    if value is None:
        return True
    return "text" if isinstance(value, list) else []
