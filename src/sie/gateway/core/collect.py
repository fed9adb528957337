"""What one request waits for (§16.2): a result for each item, the first counting, or a reason to give up. Sans-IO."""

from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.wire.result import WorkResult


@attrs.frozen
class GaveUp:
    """The transport failed the request as a whole."""

    code: ErrorCode
    message: str


@attrs.frozen
class Collected:
    """One result an item, in item order."""

    results: tuple[WorkResult, ...]


Ending: TypeAlias = Collected | GaveUp


@attrs.define
class Collector:
    """Results are kept by item index; a second one for an index, or one of no item of ours, changes nothing."""

    request_id: str
    total: int
    ending: Ending | None = None
    acks_missing: int = 0
    _results: dict[int, WorkResult] = attrs.field(factory=dict)

    def receive(self, result: WorkResult) -> bool:
        """Whether the request is over now."""
        ours = result.request_id == self.request_id and 0 <= result.item_index < self.total
        if self.ending is None and ours:
            self._results.setdefault(result.item_index, result)
            if len(self._results) == self.total:
                self.ending = Collected(tuple(self._results[index] for index in range(self.total)))
        return self.ending is not None

    def give_up(self, code: ErrorCode, message: str) -> None:
        """The first ending stands."""
        if self.ending is None:
            self.ending = GaveUp(code, message)

    @property
    def missing(self) -> int:
        return self.total - len(self._results)
