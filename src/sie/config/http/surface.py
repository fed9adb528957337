"""What the config service answers where no handler does (wire-facts 3.2): the framework's words stand as a string."""

from sie.domain.errors import ErrorCode
from sie.web.bodies import json_reply, text_reply
from sie.web.errors import Refusal
from sie.web.quart import Surface
from sie.web.routes import Headers, Reply, Request

MAX_BODY_BYTES = 1024 * 1024
"""Of any request (wire-facts 3.3)."""


def not_found(_: Request) -> Reply:
    return json_reply({"detail": "Not Found"}, status=404)


def method_not_allowed(_: Request, headers: Headers) -> Reply:
    return json_reply({"detail": "Method Not Allowed"}, status=405, headers=headers)


def too_large(_: Request, max_bytes: int) -> Reply:
    return Refusal(ErrorCode.CONFIG_PAYLOAD_TOO_LARGE, f"The body exceeds the limit of {max_bytes} bytes").reply()


def internal_error(_: Request) -> Reply:
    return text_reply("Internal Server Error", status=500)


SURFACE = Surface(
    max_body_bytes=MAX_BODY_BYTES,
    not_found=not_found,
    method_not_allowed=method_not_allowed,
    too_large=too_large,
    internal_error=internal_error,
)
