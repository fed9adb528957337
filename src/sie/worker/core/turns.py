"""Which of the items that wait go to the device next (§16.2)? Everyone has a turn: kinds by batches, requests by items.

A kind is a model and an operation. One that begins to wait, or has had a batch, waits behind all others that wait; so
each of them has at most one batch before it. Within a batch it is the same with requests: each gives one item before
any gives its second, and the next batch goes on where this one ended. So a bulk cannot hold up a single item by more
than one item of its own. The items of a request keep their order. A plan costs as much as its batch is long. Sans-IO.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping

import attrs

from sie.worker.core.batching import MAX_BATCH_ITEMS, Candidate, Kind, Request, budget_of


@attrs.frozen
class Outlook:
    """The batch that would go now, and what is first in it. `is_whole`: what waits of its kind is enough for it."""

    kind: Kind
    items: int
    is_whole: bool
    first: Candidate


@attrs.define(eq=False)
class _Line:
    """What waits of one kind: requests in the order of their turns, each with its items in theirs."""

    requests: OrderedDict[Request, OrderedDict[int, Candidate]] = attrs.field(factory=OrderedDict)
    items: int = 0
    tokens: int = 0

    def add(self, candidate: Candidate) -> None:
        self.requests.setdefault(candidate.request, OrderedDict())[candidate.order] = candidate
        self.items += 1
        self.tokens += candidate.tokens

    def remove(self, candidate: Candidate) -> None:
        items = self.requests[candidate.request]
        del items[candidate.order]
        if not items:
            del self.requests[candidate.request]
        self.items -= 1
        self.tokens -= candidate.tokens

    def first(self) -> Candidate:
        return next(iter(next(iter(self.requests.values())).values()))

    @property
    def oldest(self) -> int:
        """Its order. The first of each request is that request's oldest."""
        return min(next(iter(items)) for items in self.requests.values())

    def take(self, budget: int) -> Iterator[Candidate]:
        """The first always goes, however long it is. One that does not fit ends the batch, and is first in the next."""
        tokens = 0
        for count in range(MAX_BATCH_ITEMS):
            if not self.requests:
                return
            candidate = self.first()
            tokens += candidate.tokens
            if count and tokens > budget:
                return
            self.remove(candidate)
            if candidate.request in self.requests:
                self.requests.move_to_end(candidate.request)
            yield candidate


@attrs.define(eq=False)
class Turns:
    """What waits, each under its kind and request. A kind that is not ready keeps its place."""

    _lines: OrderedDict[Kind, _Line] = attrs.field(factory=OrderedDict, init=False)

    def add(self, candidate: Candidate) -> None:
        line = self._lines.get(candidate.kind)
        if line is None:
            line = self._lines[candidate.kind] = _Line()
        line.add(candidate)

    def remove(self, candidate: Candidate) -> None:
        """Raises KeyError where it does not wait."""
        line = self._lines[candidate.kind]
        line.remove(candidate)
        if not line.requests:
            del self._lines[candidate.kind]

    def serving_ids(self) -> tuple[str, ...]:
        """The models that something waits for."""
        return tuple({serving_id: None for serving_id, _ in self._lines})

    def oldest(self) -> Mapping[str, int]:
        """The models that something waits for, each with the order of the oldest of it."""
        orders: dict[str, int] = {}
        for (serving_id, _), line in self._lines.items():
            orders[serving_id] = min(orders.get(serving_id, line.oldest), line.oldest)
        return orders

    def outlook(self, ready: Collection[str], budgets: Mapping[str, int]) -> Outlook | None:
        """None: nothing that waits is ready."""
        kind = self._next(ready)
        if kind is None:
            return None
        line = self._lines[kind]
        is_whole = line.items >= MAX_BATCH_ITEMS or line.tokens >= budget_of(kind[0], budgets)
        return Outlook(kind, line.items, is_whole, line.first())

    def take(self, ready: Collection[str], budgets: Mapping[str, int]) -> tuple[Candidate, ...]:
        """The next batch, which waits no more; empty where nothing that waits is ready."""
        kind = self._next(ready)
        if kind is None:
            return ()
        line = self._lines[kind]
        batch = tuple(line.take(budget_of(kind[0], budgets)))
        if line.requests:
            self._lines.move_to_end(kind)
        else:
            del self._lines[kind]
        return batch

    def _next(self, ready: Collection[str]) -> Kind | None:
        return next((kind for kind in self._lines if kind[0] in ready), None)
