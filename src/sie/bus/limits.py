"""What would the broker punish by closing the whole connection? (§8) Checked here, before anything is sent.

A malformed subject, header or oversized message is an error of one caller; the connection is everybody's.
`sie.bus.nats` and every double of it raise what these functions raise.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from sie.bus.api import MessageTooLarge

# nats-server's `max_control_line` is 4096 bytes for the whole protocol line; the verb and three sizes take under 64.
MAX_SUBJECT_AND_REPLY_BYTES = 4096 - 64

HEADER_PREAMBLE_BYTES = len(b"NATS/1.0\r\n" + b"\r\n")
HEADER_LINE_BYTES = len(b": " + b"\r\n")

_WHITESPACE = re.compile(r"\s")
_HEADER_NAME = re.compile(r"[!-9;-~]+")  # visible ASCII without the colon


@lru_cache(1024)
def check_subject(subject: str, reply: str = "") -> None:
    """Raises ValueError on a subject (or reply subject) that would break the protocol line."""
    if not subject or _WHITESPACE.search(subject) or _WHITESPACE.search(reply):
        raise ValueError(f"not a subject: {subject!r} (reply {reply!r})")
    if len(subject.encode()) + len(reply.encode()) > MAX_SUBJECT_AND_REPLY_BYTES:
        raise ValueError(f"subject and reply exceed {MAX_SUBJECT_AND_REPLY_BYTES} bytes")


def check_pattern(pattern: str, queue: str = "") -> None:
    """Raises ValueError on a subscription subject with an empty token or a misplaced wildcard."""
    check_subject(pattern, queue)
    tokens = pattern.split(".")
    if not all(tokens) or ">" in tokens[:-1]:
        raise ValueError(f"not a subject pattern: {pattern!r}")
    if any(len(token) > 1 and ("*" in token or ">" in token) for token in tokens):
        raise ValueError(f"a wildcard must be a whole token: {pattern!r}")


def header_bytes(headers: Mapping[str, str]) -> int:
    """The encoded size of a header block. Raises ValueError on a name or value that cannot stand on one line."""
    if not headers:
        return 0
    size = HEADER_PREAMBLE_BYTES
    for name, value in headers.items():
        if not _is_header_name(name) or "\r" in value or "\n" in value:
            raise ValueError(f"not a header: {name!r}")
        size += len(name) + (len(value) if value.isascii() else len(value.encode())) + HEADER_LINE_BYTES
    return size


@lru_cache(256)
def _is_header_name(name: str) -> bool:
    return _HEADER_NAME.fullmatch(name) is not None


def checked_size(subject: str, data: bytes, reply: str, headers: Mapping[str, str], max_payload: int) -> int:
    """Bytes of payload and headers, the number that the broker holds against `max_payload`. Raises MessageTooLarge."""
    check_subject(subject, reply)
    size = len(data) + header_bytes(headers)
    if size > max_payload:
        raise MessageTooLarge(subject, size, max_payload)
    return size
