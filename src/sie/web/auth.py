"""Who sent a request? The bearer token of its Authorization header, compared without telling how close a guess came
(§13, wire-facts 3.1). What a token may do is each service's own table.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

_BEARER = "bearer "
TOKEN_ID_DIGITS = 12


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """The token, with or without the scheme before it; None where none was sent. `headers` has lower-case names."""
    text = headers.get("authorization", "").strip()
    token = text[len(_BEARER) :].strip() if text.lower().startswith(_BEARER) else text
    return token if token and token.lower() != _BEARER.strip() else None


def is_one_of(token: str, accepted: Iterable[str | None]) -> bool:
    """Does the token equal one that is set? An empty one never does. Every candidate is compared, in constant time."""
    sent = token.encode("utf-8", "surrogateescape")
    found = [hmac.compare_digest(sent, known.encode()) for known in accepted if known]
    return any(found)


def token_id(token: str | None) -> str:
    """What may be logged of a token: enough to tell two apart, not enough to use (wire-facts 3.10)."""
    if token is None:
        return "anonymous"
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()[:TOKEN_ID_DIGITS]
