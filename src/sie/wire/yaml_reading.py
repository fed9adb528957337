"""What JSON value does this YAML text hold? One pass over the parser's events, which refuses what could surprise.

Refused: aliases and anchors (a page of them can expand to gigabytes), tags beyond JSON's types, merge keys, dates,
duplicate keys, and nests beyond a bound, which is checked before they are followed. What is left reads as YAML 1.1, as
the published services read it: `yes` is true and `010` is 8.
"""

import re
from collections.abc import Callable, Iterator, Mapping

import attrs
import yaml
from yaml.constructor import SafeConstructor

from sie.domain.model import Json
from sie.wire.converters import WireError
from sie.wire.json_value import check_depth, checked_float, checked_int

_TAG = "tag:yaml.org,2002:"
_MAX_NUMBER_CHARS = 400
"""The longest finite number has fewer; reading an endless one would take quadratic time."""
_PLAIN_INT = re.compile("[-+]?(?:0|[1-9][0-9]*)")
_TRUE, _FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
_NULL = frozenset({"", "~", "null"})
_CONSTRUCTOR = SafeConstructor()
"""For numbers in the forms of YAML 1.1 that are no plain decimals; it holds nothing between two."""
_MEANINGS: Mapping[str, str] = {
    "timestamp": "a date is no JSON value: in quotes it is a string",
    "merge": "the merge key << is not taken",
    "value": "the value key = is not taken: in quotes it is a string",
}


def load_yaml(text: str) -> Json:
    """The one document of the text; null for an empty one. Raises WireError."""
    try:
        return _Reader(yaml.parse(text, Loader=yaml.CSafeLoader)).document()
    except yaml.YAMLError as error:
        raise WireError.at(message=f"not a YAML document: {_in_words(error)}") from error
    except UnicodeEncodeError as error:  # the parser reads UTF-8
        raise WireError.at(message="not a YAML document: it holds lone surrogates") from error


@attrs.define
class _Reader:
    """`loc` is where the value that is being read stands."""

    events: Iterator[yaml.Event]
    loc: tuple[str | int, ...] = ()

    def document(self) -> Json:
        next(self.events)  # the start of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return None
        value = self.value(next(self.events))
        next(self.events)  # the end of the document
        if not isinstance(next(self.events), yaml.StreamEndEvent):
            raise self.refusal("not a YAML document: it holds more than one")
        return value

    def value(self, event: yaml.Event) -> Json:
        match event:
            case yaml.ScalarEvent():
                return self.scalar(event)
            case yaml.MappingStartEvent():
                self.open(event, "map")
                return self.mapping()
            case yaml.SequenceStartEvent():
                self.open(event, "seq")
                return self.sequence()
            case _:
                raise self.refusal("YAML aliases are not taken", event)

    def open(self, event: yaml.CollectionStartEvent, kind: str) -> None:
        self.check_anchor(event)
        if event.tag is not None and event.tag != _TAG + kind:
            raise self.refusal(f"the tag {event.tag} is not taken", event)
        check_depth(*self.loc)

    def mapping(self) -> Mapping[str, Json]:
        found: dict[str, Json] = {}
        loc = self.loc
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self.key(event)
            self.loc = (*loc, key)
            if key in found:
                raise self.refusal("stands twice in its map", event)
            found[key] = self.value(next(self.events))
            self.loc = loc
        return found

    def sequence(self) -> list[Json]:
        found: list[Json] = []
        loc = self.loc
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            self.loc = (*loc, len(found))
            found.append(self.value(event))
            self.loc = loc
        return found

    def key(self, event: yaml.Event) -> str:
        if isinstance(event, yaml.CollectionStartEvent):
            raise self.refusal("a key must be a string, not a map or a list", event)
        key = self.value(event)
        if not isinstance(key, str):
            raise self.refusal(f"the key {key!r} must be a string", event)
        return key

    def scalar(self, event: yaml.ScalarEvent) -> Json:
        if event.anchor is not None:
            self.check_anchor(event)
        text: str = event.value
        if event.tag is not None:
            kind = event.tag.removeprefix(_TAG)
            if kind not in _READ and kind != "str":
                raise self.refusal(f"the tag {event.tag} is not taken", event)
        elif event.implicit[0]:
            kind = _plain_kind(text)
        else:
            return text
        return text if kind == "str" else self.plain(kind, text, event)

    def plain(self, kind: str, text: str, event: yaml.Event) -> Json:
        if kind in _MEANINGS:
            raise self.refusal(_MEANINGS[kind], event)
        try:
            value = _READ[kind](text)
        except OverflowError as error:
            message = f"a number has at most {_MAX_NUMBER_CHARS} characters, not {len(text)}"
            raise self.refusal(message, event) from error
        except (ValueError, IndexError) as error:
            raise self.refusal(f"{text[:40]!r} is no {kind}", event) from error
        if isinstance(value, float):
            return checked_float(value, *self.loc)
        return checked_int(value, *self.loc) if isinstance(value, int) else value

    def check_anchor(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            raise self.refusal("YAML anchors are not taken", event)

    def refusal(self, message: str, event: yaml.Event | None = None) -> WireError:
        line = f" (line {event.start_mark.line + 1})" if event is not None and event.start_mark is not None else ""
        return WireError.at(*self.loc, message=message + line)


def _plain_kind(text: str) -> str:
    """Which of its types YAML 1.1 takes an unquoted text for."""
    for tag, pattern in yaml.CSafeLoader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            return str(tag).removeprefix(_TAG)
    return "str"


def _bool(text: str) -> bool:
    if text.lower() in _TRUE or text.lower() in _FALSE:
        return text.lower() in _TRUE
    raise ValueError(text)


def _null(text: str) -> None:
    if text.lower() not in _NULL:
        raise ValueError(text)


def _int(text: str) -> int:
    if len(text) > _MAX_NUMBER_CHARS:
        raise OverflowError(len(text))
    if _PLAIN_INT.fullmatch(text):
        return int(text)
    return int(_CONSTRUCTOR.construct_yaml_int(yaml.ScalarNode(_TAG + "int", text)))


def _float(text: str) -> float:
    if len(text) > _MAX_NUMBER_CHARS:
        raise OverflowError(len(text))
    return float(_CONSTRUCTOR.construct_yaml_float(yaml.ScalarNode(_TAG + "float", text)))


_READ: Mapping[str, Callable[[str], bool | int | float | None]] = {
    "bool": _bool,
    "null": _null,
    "int": _int,
    "float": _float,
}


def _in_words(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return " ".join(str(error).split())
