"""Who wrote what: one line for each write that succeeded, in the log of its own name (wire-facts 3.10)."""

import logging
from typing import Literal

import attrs
import trio

from sie.web.auth import bearer_token, token_id
from sie.web.routes import Reply, Request

log = logging.getLogger("sie.audit")

Event = Literal["config.add_model", "config.replace_model", "config.delete_model"]
MS_PER_S = 1000.0


@attrs.frozen
class Audited:
    """Begun when the request came; `latency_ms` runs from there."""

    request: Request
    event: Event
    began: float = attrs.field(factory=trio.current_time)

    def tell(self, model: str, reply: Reply) -> None:
        log.info(
            "write",
            extra={
                "event": self.event,
                "method": self.request.method,
                "endpoint": self.request.path,
                "status": reply.status,
                "token_id": token_id(bearer_token(self.request.headers)),
                "model": model,
                "latency_ms": round((trio.current_time() - self.began) * MS_PER_S, 3),
                "body_bytes": len(self.request.body),
            },
        )
