"""What a refusal looks like over HTTP: a code with its words becomes the status, envelope and headers of its rule."""

from collections.abc import Mapping

import attrs

from sie.domain.errors import ERRORS, ErrorCode
from sie.web.bodies import Format, write_body
from sie.web.routes import Headers, Reply
from sie.wire.envelopes import error_body

_NOTHING: Mapping[str, object] = {}


@attrs.frozen
class Refusal:
    """An error before it has a form: a code with its words and whatever stands beside them."""

    code: ErrorCode
    message: str
    extra: Mapping[str, object] = _NOTHING
    retry_after_s: int | None = None
    headers: Headers = ()

    def reply(self, kind: Format = "json", more: Headers = ()) -> Reply:
        """The status, envelope and Retry-After that the code's rule names; a worker's own Retry-After wins."""
        rule = ERRORS[self.code]
        wait_s = rule.retry_after_s if self.retry_after_s is None else self.retry_after_s
        retry = (("Retry-After", str(wait_s)),) if wait_s is not None else ()
        coded = (("X-SIE-Error-Code", self.code.value),) if rule.envelope == "error" else ()
        body = error_body(self.code, self.message, self.extra)
        return write_body(body, kind, status=rule.status, headers=(*retry, *coded, *self.headers, *more))
