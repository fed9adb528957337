"""What the gateway answers where no handler does (wire-facts 1.7): each in its envelope, after who asks was judged."""

from sie.domain.errors import ErrorCode
from sie.gateway.http.guards import Admitting
from sie.gateway.http.inference import VERSION_HEADERS
from sie.web.errors import Refusal
from sie.web.quart import Surface
from sie.web.routes import Headers, Reply, Request

MAX_BODY_BYTES = 34 * 1024 * 1024
"""Of any request (decisions)."""


def surface_of(admit: Admitting) -> Surface:
    """Whether a path exists is told to those alone who may ask for one."""
    return Surface(
        max_body_bytes=MAX_BODY_BYTES,
        not_found=lambda request: admit(request) or not_found(request),
        method_not_allowed=lambda request, headers: admit(request) or method_not_allowed(request, headers),
        too_large=too_large,
        internal_error=internal_error,
        headers=VERSION_HEADERS,
    )


def not_found(request: Request) -> Reply:
    by = " for plain HTTP: what lies under /ws/ is spoken to as a WebSocket" if request.path.startswith("/ws/") else ""
    return Refusal(ErrorCode.NOT_FOUND, f"there is no path {request.path}{by}").reply()


def method_not_allowed(request: Request, headers: Headers) -> Reply:
    message = f"{request.method} is not taken on {request.path}"
    return Refusal(ErrorCode.METHOD_NOT_ALLOWED, message, headers=headers).reply()


def too_large(request: Request, max_bytes: int) -> Reply:
    seen = request.headers.get("content-length", "more")
    return Refusal(ErrorCode.PAYLOAD_TOO_LARGE, f"the body must be at most {max_bytes} bytes, not {seen}").reply()


def internal_error(_: Request) -> Reply:
    return Refusal(ErrorCode.INTERNAL_ERROR, "the gateway failed; its log says how").reply()
