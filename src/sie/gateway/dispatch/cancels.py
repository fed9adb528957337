"""Whom to tell that nobody waits any more (§8, decisions)? Everybody who may hold the request's work. Best effort."""

import logging
from collections.abc import Iterable
from enum import StrEnum

import attrs

from sie.bus.api import BusError, Publisher
from sie.domain.ids import RequestId, RouterId, WorkerId
from sie.domain.subjects import batch_cancel_subject, work_cancel_subject
from sie.wire.cancel import BatchCancel, WorkCancel, encode_cancel

log = logging.getLogger(__name__)


class Reason(StrEnum):
    """Why a gateway waits no more: for people who read along."""

    ABANDONED = "abandoned"
    TIMEOUT = "timeout"
    TRANSPORT = "transport"
    FALLBACK = "fallback"


@attrs.frozen
class Cancels:
    bus: Publisher
    router: RouterId

    def abandon(self, request: RequestId, reason: Reason) -> None:
        """All work of the request."""
        subject = work_cancel_subject(self.router, request)
        self._tell(subject, encode_cancel(WorkCancel(router_id=self.router, request_id=request, reason=reason)))

    def withdraw(self, request: RequestId, worker: WorkerId, indexes: Iterable[int]) -> None:
        """Of the work that was sent to this worker by name; it is in the pool's queue by now."""
        subject = batch_cancel_subject(self.router, worker, request)
        cancel = BatchCancel(
            router_id=self.router,
            request_id=request,
            reason=Reason.FALLBACK,
            worker_id=worker,
            item_indexes=tuple(sorted(indexes)),
        )
        self._tell(subject, encode_cancel(cancel))

    def _tell(self, subject: str, data: bytes) -> None:
        try:
            self.bus.publish_nowait(subject, data)
        except BusError as error:
            log.info("a cancel could not be sent", extra={"subject": subject, "error": str(error)})
