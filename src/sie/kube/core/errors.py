"""What can go wrong between us and an API server? A small closed set, made once from a Status object (§16.3).

`Unavailable` is everything that says nothing about the request: no connection, no answer in time, 5xx, nonsense.
"""

from collections.abc import Mapping

RETRY_AFTER_S = 1.0
"""Seconds, where a server that is too busy names none."""
MAX_RETRY_AFTER_S = 60.0


class KubeError(Exception):
    """`retry_after_s` is what the server asked for, bounded; None where it asked for nothing."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotFound(KubeError):
    pass


class AlreadyExists(KubeError):
    pass


class Conflict(KubeError):
    """The object is another by now: read it again and decide again."""


class Gone(KubeError):
    """The history that was asked for is no longer kept: list again."""


class Unauthorized(KubeError):
    """The server does not know us, also with a token that was read again."""


class Forbidden(KubeError):
    """The server knows us, and our role does not cover the request."""


class TooManyRequests(KubeError):
    pass


class Invalid(KubeError):
    """The server will never take this request as it is."""


class Unavailable(KubeError):
    """Whether a write took effect is unknown."""


_BY_REASON: Mapping[str, type[KubeError]] = {
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Gone,
    "Expired": Gone,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "TooManyRequests": TooManyRequests,
    "Invalid": Invalid,
    "BadRequest": Invalid,
}
_BY_CODE: Mapping[int, type[KubeError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    410: Gone,
    429: TooManyRequests,
}


def error_of(code: int, body: object, retry_after: str | None = None) -> KubeError:
    """`body` is the answer's JSON, or the object of an ERROR event; of other things the code alone is believed."""
    status = body if isinstance(body, Mapping) and body.get("kind") == "Status" else {}
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    told = status.get("code")
    number = told if isinstance(told, int) else code
    kind = _BY_REASON.get(reason) or _BY_CODE.get(number) or (Invalid if 400 <= number < 500 else Unavailable)
    return kind(f"{number} {reason or kind.__name__}: {message}".rstrip(": "), _bounded(kind, retry_after))


def _bounded(kind: type[KubeError], retry_after: str | None) -> float | None:
    """The header's seconds; its other form, a date, is read as none."""
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        return min(float(retry_after[:9]), MAX_RETRY_AFTER_S)
    return RETRY_AFTER_S if kind is TooManyRequests else None
