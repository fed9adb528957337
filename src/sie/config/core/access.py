"""Who may read, export and write configuration (§3, §13, wire-facts 3.1)? A table over the tokens that are set."""

from collections.abc import Mapping
from typing import Literal

import attrs

from sie.web.auth import bearer_token, is_one_of

Kind = Literal["read", "export", "write"]


@attrs.frozen
class Tokens:
    """None is not set; an empty one counts as set and lets nobody in. `in_production` refuses to stand open."""

    admin: str | None = None
    config_read: str | None = None
    inference: str | None = None
    in_production: bool = False

    @property
    def are_set(self) -> bool:
        return any(token is not None for token in (self.admin, self.config_read, self.inference))

    def accepted(self, kind: Kind) -> tuple[str | None, ...]:
        match kind:
            case "read":
                return self.admin, self.config_read, self.inference
            case "export":
                return self.admin, self.config_read
            case "write":
                return (self.admin,)


@attrs.frozen
class Denied:
    """`status` is 401 or 403; `words` stand alone, as the published service has them."""

    status: int
    words: str


def judge_access(tokens: Tokens, kind: Kind, headers: Mapping[str, str]) -> Denied | None:
    """None: go ahead. `headers` has lower-case names."""
    if not tokens.are_set:
        return (
            Denied(403, "No token is configured, and this is a production deployment") if tokens.in_production else None
        )
    if kind == "write" and tokens.admin is None:
        return Denied(403, "Write operations require SIE_ADMIN_TOKEN (read tokens are not sufficient).")
    sent = bearer_token(headers)
    if sent is None:
        return Denied(401, "Missing Authorization header")
    if is_one_of(sent, tokens.accepted(kind)):
        return None
    return Denied(403, "Admin token required for config mutations" if kind == "write" else "Invalid token")
