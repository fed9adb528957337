"""May this request go on, by its token (§13, wire-facts 4.5)? A table over method, path and what is set."""

from collections.abc import Mapping
from typing import Literal, assert_never

import attrs

from sie.domain.errors import ErrorCode
from sie.web.auth import bearer_token, is_one_of

Kind = Literal["probe", "operational", "admin", "ordinary"]

PROBES = frozenset({"/healthz", "/readyz"})
OPERATIONAL = frozenset({"/", "/health"})
ADMIN_TREES = ("/v1/configs", "/v1/admin", "/v1/pools")
READ_BY_POST = frozenset({"/v1/configs/resolve"})
"""A question with a body, which changes nothing (decisions)."""
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_MODES = {"none": False, "": False, "token": True, "static": True}


@attrs.frozen
class Access:
    """`tokens` may ask for inference and read; `admin` may do that and all else."""

    is_enforced: bool = False
    tokens: tuple[str, ...] = ()
    admin: str | None = None
    exempts_operational: bool = False


@attrs.frozen
class Denied:
    code: ErrorCode
    words: str


def is_enforced(mode: str) -> bool | None:
    """None where there is no such mode, which then means off (§13)."""
    return _MODES.get(mode.strip().lower())


def kind_of(method: str, path: str) -> Kind:
    if path in PROBES:
        return "probe"
    if path in OPERATIONAL or path.startswith("/ws/"):
        return "operational"
    changes = method not in _READING and path.rstrip("/") not in READ_BY_POST
    return "admin" if changes and any(_is_in(path, tree) for tree in ADMIN_TREES) else "ordinary"


def judge_access(access: Access, method: str, path: str, headers: Mapping[str, str]) -> Denied | None:
    """None: go ahead. `headers` has lower-case names. Without tokens nobody comes in where some are asked for."""
    if not access.is_enforced:
        return None
    kind = kind_of(method, path)
    if kind == "probe" or (kind == "operational" and access.exempts_operational):
        return None
    if not any(access.tokens):
        return Denied(ErrorCode.INTERNAL_ERROR, "SIE_AUTH_MODE asks for tokens, and SIE_AUTH_TOKENS is not set")
    sent = bearer_token(headers)
    match kind:
        case "admin":
            return _judge_admin(access, sent)
        case "operational" | "ordinary":
            return _judge_ordinary(access, sent)
        case other:
            assert_never(other)


def _judge_admin(access: Access, sent: str | None) -> Denied | None:
    if not access.admin:
        return Denied(ErrorCode.FORBIDDEN, "this needs the admin token, and SIE_ADMIN_TOKEN is not set")
    if sent is None:
        return Denied(ErrorCode.UNAUTHORIZED, "the Authorization header is missing")
    return None if is_one_of(sent, (access.admin,)) else Denied(ErrorCode.FORBIDDEN, "this needs the admin token")


def _judge_ordinary(access: Access, sent: str | None) -> Denied | None:
    if sent is None:
        return Denied(ErrorCode.UNAUTHORIZED, "the Authorization header is missing")
    known = is_one_of(sent, (*access.tokens, access.admin))
    return None if known else Denied(ErrorCode.UNAUTHORIZED, "the token is not known")


def _is_in(path: str, tree: str) -> bool:
    return path == tree or path.startswith(f"{tree}/")
