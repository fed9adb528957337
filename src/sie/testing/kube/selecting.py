"""Which objects does a label selector or a field selector choose?"""

import re
from collections.abc import Mapping

import attrs

_SET = re.compile(r"(?P<key>[^\s,!=()]+)\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL = re.compile(r"(?P<key>[^\s,!=()]+)\s*(?P<word>==|=|!=)\s*(?P<value>[^\s,()]*)")
_EXISTS = re.compile(r"(?P<no>!?)\s*(?P<key>[^\s,!=()]+)")


class BadSelector(ValueError):
    pass


@attrs.frozen
class Rule:
    """`values` None asks whether the key is there; `wanted` False turns it round."""

    key: str
    values: frozenset[str] | None
    wanted: bool

    def holds(self, words: Mapping[str, str]) -> bool:
        """A key that is not there satisfies `!=` and `notin`."""
        if self.values is None:
            return (self.key in words) is self.wanted
        return (words.get(self.key) in self.values) is self.wanted


@attrs.frozen
class Selector:
    labels: tuple[Rule, ...] = ()
    fields: tuple[Rule, ...] = ()

    def chooses(self, document: Mapping[str, object]) -> bool:
        metadata = document.get("metadata")
        known = metadata if isinstance(metadata, Mapping) else {}
        labels = known.get("labels") or {}
        fields = {f"metadata.{key}": str(known.get(key, "")) for key in ("name", "namespace")}
        return all(rule.holds(labels) for rule in self.labels) and all(rule.holds(fields) for rule in self.fields)


def parse_selector(labels: str, fields: str) -> Selector:
    """Raises BadSelector."""
    chosen = Selector(_rules(labels), _rules(fields))
    unknown = [rule.key for rule in chosen.fields if rule.key not in ("metadata.name", "metadata.namespace")]
    if unknown:
        raise BadSelector(f"field label not supported: {unknown[0]}")
    return chosen


def _rules(text: str) -> tuple[Rule, ...]:
    rules = []
    rest = text.strip()
    while rest:
        rule, end = _rule(rest)
        rules.append(rule)
        rest = rest[end:].lstrip()
        if rest and (not rest.startswith(",") or not rest[1:].strip()):
            raise BadSelector(f"unable to parse requirement: found {rest!r}")
        rest = rest[1:].lstrip()
    return tuple(rules)


def _rule(text: str) -> tuple[Rule, int]:
    if match := _SET.match(text):
        values = frozenset(value.strip() for value in match["values"].split(","))
        return Rule(match["key"], values, match["word"] == "in"), match.end()
    if match := _EQUAL.match(text):
        return Rule(match["key"], frozenset({match["value"]}), match["word"] != "!="), match.end()
    if match := _EXISTS.match(text):
        return Rule(match["key"], None, not match["no"]), match.end()
    raise BadSelector(f"unable to parse requirement: found {text!r}")
