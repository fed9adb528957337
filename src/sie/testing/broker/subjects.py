"""Who listens to a subject? NATS's matching of subjects and patterns, and its index of subscriptions. Sans-IO."""

from typing import Generic, TypeVar

import attrs

T = TypeVar("T")


def matches(pattern: str, subject: str) -> bool:
    """Whether a subject without wildcards falls under the pattern."""
    wanted, found = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(found) >= len(wanted) and _same(wanted[:-1], found)
    return len(found) == len(wanted) and _same(wanted, found)


def _same(wanted: list[str], found: list[str]) -> bool:
    return all(token in ("*", other) for token, other in zip(wanted, found, strict=False))


def overlap(one: str, other: str) -> bool:
    """Whether some subject falls under both patterns."""
    ones, others = one.split("."), other.split(".")
    for left, right in zip(ones, others, strict=False):
        if ">" in (left, right):
            return True
        if left != right and "*" not in (left, right):
            return False
    return len(ones) == len(others)


@attrs.define(eq=False)
class _Node(Generic[T]):
    below: "dict[str, _Node[T]]" = attrs.field(factory=dict)
    entries: list[T] = attrs.field(factory=list)


@attrs.define(eq=False)
class Index(Generic[T]):
    """Entries by pattern, found by subject in time that does not grow with their number."""

    _root: _Node[T] = attrs.field(factory=_Node, init=False)

    def add(self, pattern: str, entry: T) -> None:
        node = self._root
        for token in pattern.split("."):
            node = node.below.setdefault(token, _Node())
        node.entries.append(entry)

    def remove(self, pattern: str, entry: T) -> None:
        path = [self._root]
        tokens = pattern.split(".")
        for token in tokens:
            path.append(path[-1].below[token])
        path[-1].entries.remove(entry)
        for token, above, node in zip(reversed(tokens), reversed(path[:-1]), reversed(path[1:]), strict=True):
            if not node.below and not node.entries:
                del above.below[token]

    def find(self, subject: str) -> list[T]:
        """In no order that means anything."""
        found: list[T] = []
        nodes = [self._root]
        for token in subject.split("."):
            below: list[_Node[T]] = []
            for node in nodes:
                if (rest := node.below.get(">")) is not None:
                    found += rest.entries
                if (exact := node.below.get(token)) is not None:
                    below.append(exact)
                if (any_token := node.below.get("*")) is not None:
                    below.append(any_token)
            if not below:
                return found
            nodes = below
        for node in nodes:
            found += node.entries
        return found
