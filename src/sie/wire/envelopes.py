"""The shapes that an error has on each surface (wire-facts 1.7, 3.2, 4.2; decisions): one function a shape."""

from collections.abc import Mapping

from sie.domain.errors import ERRORS, ErrorCode

_NOTHING: Mapping[str, object] = {}


def error_body(code: ErrorCode, message: str, extra: Mapping[str, object] = _NOTHING) -> Mapping[str, object]:
    """The body for a code in the envelope that its rule names; `extra` stands beside code and message."""
    match ERRORS[code].envelope:
        case "detail":
            return {"detail": {"code": code.value, "message": message, **extra}}
        case "error":
            return {"error": {"code": code.value, "message": message, **extra}}
        case "config":
            return {"detail": {"error": code.value, "message": message, **extra}}
