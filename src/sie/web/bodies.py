"""Which of JSON and msgpack a body is, and which the reply must be (wire-facts 4.2); reading and writing both."""

from collections.abc import Mapping
from typing import Literal

import orjson

from sie.web.routes import Headers, Reply
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError

Format = Literal["json", "msgpack"]
JSON_TYPE = "application/json"
MSGPACK_TYPE = "application/msgpack"
YAML_TYPE = "application/x-yaml"
TEXT_TYPE = "text/plain; charset=utf-8"
_CONTENT_TYPES: Mapping[Format, str] = {"json": JSON_TYPE, "msgpack": MSGPACK_TYPE}
_MSGPACK_NAMES = frozenset({MSGPACK_TYPE, "application/x-msgpack", "application/vnd.msgpack"})
_ANYTHING = frozenset({"*/*", "application/*"})


def request_format(headers: Mapping[str, str]) -> Format:
    return "msgpack" if "msgpack" in headers.get("content-type", "").lower() else "json"


def reply_format(headers: Mapping[str, str]) -> Format:
    """An explicit Accept wins; none, or one that takes anything, mirrors the request's Content-Type."""
    if headers.get("accept", "*/*") == "*/*":
        return request_format(headers)
    named = [part.partition(";")[0].strip().lower() for part in headers.get("accept", "").split(",")]
    if any(name in _MSGPACK_NAMES for name in named):
        return "msgpack"
    if JSON_TYPE in named or not any(name in _ANYTHING or not name for name in named):
        return "json"
    return request_format(headers)


def error_format(headers: Mapping[str, str]) -> Format:
    """Errors are JSON, or exactly `application/msgpack` when that was asked for by name (wire-facts 1.7)."""
    return "msgpack" if MSGPACK_TYPE in headers.get("accept", "").lower() else "json"


def read_body(body: bytes, kind: Format) -> object:
    """Raises WireError on what is no document of that kind."""
    if kind == "msgpack":
        return unpack(body)
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise WireError.at(message=f"not a JSON document: {error}") from error
    return value


def write_body(value: object, kind: Format, *, status: int = 200, headers: Headers = ()) -> Reply:
    body = pack(value) if kind == "msgpack" else orjson.dumps(value)
    return Reply(status, body, _CONTENT_TYPES[kind], headers)


def json_reply(value: object, *, status: int = 200, headers: Headers = ()) -> Reply:
    return write_body(value, "json", status=status, headers=headers)


def yaml_reply(text: str) -> Reply:
    return Reply(200, text.encode(), YAML_TYPE)


def text_reply(text: str, *, status: int = 200) -> Reply:
    return Reply(status, text.encode(), TEXT_TYPE)
