"""Which format a body has and a reply gets, and how a refusal looks in each (wire-facts 1.7 and 4.2)."""

import json

import msgpack
import pytest

from sie.domain.errors import ERRORS, ErrorCode
from sie.web.bodies import error_format, read_body, reply_format, request_format
from sie.web.errors import Refusal
from sie.wire.converters import WireError

JSON, MSGPACK = "application/json", "application/msgpack"


@pytest.mark.parametrize(
    ("accept", "content_type", "expected"),
    [
        (None, None, "json"),
        (None, MSGPACK, "msgpack"),
        ("*/*", MSGPACK, "msgpack"),
        ("*/*", JSON, "json"),
        (JSON, MSGPACK, "json"),
        (MSGPACK, JSON, "msgpack"),
        ("application/x-msgpack", None, "msgpack"),
        ("text/html, application/json;q=0.9", MSGPACK, "json"),
        ("text/html, */*;q=0.8", MSGPACK, "msgpack"),
        ("APPLICATION/MSGPACK", None, "msgpack"),
        ("text/html", MSGPACK, "json"),
    ],
)
def test_an_explicit_accept_wins_and_none_mirrors_the_request(
    accept: str | None, content_type: str | None, expected: str
) -> None:
    headers = {"accept": accept, "content-type": content_type}
    assert reply_format({name: value for name, value in headers.items() if value}) == expected


def test_a_request_is_msgpack_only_when_its_type_says_so() -> None:
    assert request_format({"content-type": "application/x-msgpack; charset=utf-8"}) == "msgpack"
    assert request_format({"content-type": "text/plain"}) == "json"
    assert request_format({}) == "json"


def test_errors_are_msgpack_only_when_exactly_that_is_asked_for() -> None:
    assert error_format({"accept": MSGPACK}) == "msgpack"
    assert error_format({"accept": "application/x-msgpack"}) == "json"
    assert error_format({"content-type": MSGPACK}) == "json"


@pytest.mark.parametrize("kind", ["json", "msgpack"])
def test_a_body_that_is_no_document_is_told(kind: str) -> None:
    with pytest.raises(WireError, match=kind.upper() if kind == "json" else kind):
        read_body(b"\xc1", "json" if kind == "json" else "msgpack")


def test_a_lone_surrogate_in_json_is_no_document() -> None:
    with pytest.raises(WireError):
        read_body(b'{"items": [{"text": "\\ud800"}]}', "json")


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_has_its_status_envelope_and_retry(code: ErrorCode) -> None:
    rule, reply = ERRORS[code], Refusal(code, "words", {"more": 1}).reply()
    body = json.loads(reply.body)
    inner = body["error" if rule.envelope == "error" else "detail"]
    assert reply.status == rule.status
    assert inner["error" if rule.envelope == "config" else "code"] == code.value
    assert (inner["message"], inner["more"]) == ("words", 1)
    assert dict(reply.headers).get("Retry-After") == (str(rule.retry_after_s) if rule.retry_after_s else None)
    assert dict(reply.headers).get("X-SIE-Error-Code") == (code.value if rule.envelope == "error" else None)


def test_a_workers_own_retry_after_wins() -> None:
    reply = Refusal(ErrorCode.RESOURCE_EXHAUSTED, "full", retry_after_s=17).reply("msgpack")
    assert dict(reply.headers)["Retry-After"] == "17"
    assert msgpack.unpackb(reply.body)["error"]["code"] == "RESOURCE_EXHAUSTED"
