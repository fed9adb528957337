"""What may stand where in a document that people write? Checks that combine into a table, and tell every problem.

JSON types are strict, as everywhere in the wire: `"1"` is no integer and neither is `true`. No key is required: a write
may carry a part of a document (wire-facts 3.6).
"""

from collections.abc import Callable, Iterator, Mapping

from sie.wire.converters import Problem, kind_of

Loc = tuple[str | int, ...]
Check = Callable[[object, Loc], Iterator[Problem]]


def text(value: object, loc: Loc) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield _wrong("a string", value, loc)


def truth(value: object, loc: Loc) -> Iterator[Problem]:
    if not isinstance(value, bool):
        yield _wrong("true or false", value, loc)


def any_map(value: object, loc: Loc) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield _wrong("a map", value, loc)


def integer(*, least: int) -> Check:
    def check(value: object, loc: Loc) -> Iterator[Problem]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield _wrong("an integer", value, loc)
        elif value < least:
            yield Problem(loc, f"must be at least {least}, not {value}")

    return check


def number(*, above: float | None = None) -> Check:
    def check(value: object, loc: Loc) -> Iterator[Problem]:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            yield _wrong("a number", value, loc)
        elif above is not None and value <= above:
            yield Problem(loc, f"must be above {above:g}, not {value}")

    return check


def one_of(*words: str) -> Check:
    def check(value: object, loc: Loc) -> Iterator[Problem]:
        if not isinstance(value, str) or value not in words:
            yield Problem(loc, f"must be one of {', '.join(words)}, not {value!r}")

    return check


def text_or_map(value: object, loc: Loc) -> Iterator[Problem]:
    if not isinstance(value, (str, Mapping)):
        yield _wrong("a string or a map", value, loc)


def nullable(inner: Check) -> Check:
    def check(value: object, loc: Loc) -> Iterator[Problem]:
        if value is not None:
            yield from inner(value, loc)

    return check


def list_of(inner: Check) -> Check:
    def check(value: object, loc: Loc) -> Iterator[Problem]:
        if not isinstance(value, (list, tuple)):
            yield _wrong("a list", value, loc)
            return
        for index, item in enumerate(value):
            yield from inner(item, (*loc, index))

    return check


def map_of(inner: Check) -> Check:
    """Any keys."""

    def check(value: object, loc: Loc) -> Iterator[Problem]:
        if not isinstance(value, Mapping):
            yield _wrong("a map", value, loc)
            return
        for key, item in value.items():
            yield from inner(item, (*loc, key))

    return check


def record(fields: Mapping[str, Check], *, unknown: str) -> Check:
    """These keys and no others; `unknown` is what another one is told."""

    def check(value: object, loc: Loc) -> Iterator[Problem]:
        if not isinstance(value, Mapping):
            yield _wrong("a map", value, loc)
            return
        for key, item in value.items():
            inner = fields.get(key)
            if inner is None:
                yield Problem((*loc, key), unknown)
            else:
                yield from inner(item, (*loc, key))

    return check


def problems_of(check: Check, value: object) -> tuple[Problem, ...]:
    """Sorted by place."""
    return tuple(sorted(check(value, ()), key=lambda problem: (tuple(map(str, problem.loc)), problem.message)))


def _wrong(wanted: str, value: object, loc: Loc) -> Problem:
    return Problem(loc, f"must be {wanted}, not {kind_of(value)}")
