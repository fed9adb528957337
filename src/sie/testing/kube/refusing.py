"""What does the double say when it refuses? A Status object, as an exception of the model."""

from collections.abc import Mapping

from sie.testing.kube.resources import Document, Resource

REASONS: Mapping[int, str] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refused(Exception):
    def __init__(self, code: int, message: str, *, reason: str | None = None, details: Document | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status(code, message, reason=reason, details=details)


def status(code: int, message: str, *, reason: str | None = None, details: Document | None = None) -> Document:
    body: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return body | {"reason": reason or REASONS[code], "details": details or {}, "code": code}


def success(resource: Resource, name: str, uid: str) -> Document:
    """The answer to a deletion."""
    details = {"name": name, "group": resource.group, "kind": resource.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def not_found(resource: Resource, name: str) -> Refused:
    return Refused(404, f'{resource.qualified} "{name}" not found', details=_about(resource, name))


def already_exists(resource: Resource, name: str) -> Refused:
    message = f'{resource.qualified} "{name}" already exists'
    return Refused(409, message, reason="AlreadyExists", details=_about(resource, name))


def conflict(resource: Resource, name: str, why: str) -> Refused:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return Refused(409, message, details=_about(resource, name))


def invalid(resource: Resource, name: str, causes: list[tuple[str, str]]) -> Refused:
    """`causes` are pairs of field and message."""
    told = [{"reason": "FieldValueInvalid", "message": why, "field": field} for field, why in causes]
    text = "; ".join(f"{field}: {why}" for field, why in causes)
    message = f'{resource.kind} "{name}" is invalid: {text}'
    return Refused(422, message, details=_about(resource, name) | {"causes": told})


def expired(why: str) -> Refused:
    return Refused(410, why)


def _about(resource: Resource, name: str) -> Document:
    return {"name": name, "group": resource.group, "kind": resource.plural}
