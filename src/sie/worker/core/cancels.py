"""Which work does nobody wait for any more (§8)? Tombstones of whole requests, and of single items sent here by name.

A cancel is a hint, which may come before its work, after it, or never; so tombstones are few, and forgotten in time.
Sans-IO; `sie.worker.consume.cancels` listens.
"""

from typing import TypeAlias

import attrs

from sie.bus.work_streams import ACK_WAIT_S, MAX_DELIVER
from sie.domain.ids import RequestId, RouterId, WorkerId
from sie.domain.subjects import batch_cancel_subject, work_cancel_subject
from sie.wire.cancel import BatchCancel, WorkCancel
from sie.wire.work import WorkItem

MAX_TOMBSTONES = 16_384
"""A few requests of the most items that a gateway takes, or as many requests that were left."""
MAX_AGE_S = MAX_DELIVER * ACK_WAIT_S
"""After this time the broker gives a message up that nobody takes."""

_Grave: TypeAlias = tuple[str, str, int | None]
"""Gateway, request and item; no item stands for all of them."""


@attrs.define(eq=False)
class Tombstones:
    """Times are Trio's, and never fall."""

    _made_s: dict[_Grave, float] = attrs.field(factory=dict, init=False)
    """The oldest first."""

    def __len__(self) -> int:
        return len(self._made_s)

    def abandon(self, cancel: WorkCancel, *, now_s: float) -> None:
        self._add((cancel.router_id, cancel.request_id, None), now_s)

    def withdraw(self, cancel: BatchCancel, *, now_s: float) -> None:
        for index in cancel.item_indexes:
            self._add((cancel.router_id, cancel.request_id, index), now_s)

    def covers(self, work: WorkItem, *, is_direct: bool, now_s: float) -> bool:
        """Only what was sent here by name can be withdrawn item by item: the pool's copy is the one that counts."""
        self._forget(now_s)
        request = (work.router_id, work.request_id)
        return (*request, None) in self._made_s or (is_direct and (*request, work.item_index) in self._made_s)

    def _add(self, grave: _Grave, now_s: float) -> None:
        self._made_s.pop(grave, None)
        self._made_s[grave] = now_s
        self._forget(now_s)

    def _forget(self, now_s: float) -> None:
        while self._made_s:
            oldest = next(iter(self._made_s))
            if len(self._made_s) <= MAX_TOMBSTONES and now_s - self._made_s[oldest] < MAX_AGE_S:
                return
            del self._made_s[oldest]


def is_of(subject: str, cancel: WorkCancel | BatchCancel) -> bool:
    """Does the subject that a cancel came on name what the cancel does?"""
    router, request = RouterId(cancel.router_id), RequestId(cancel.request_id)
    if isinstance(cancel, WorkCancel):
        return subject == work_cancel_subject(router, request)
    return subject == batch_cancel_subject(router, WorkerId(cancel.worker_id), request)
