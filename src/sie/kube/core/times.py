"""How does Kubernetes write times? RFC 3339 in UTC: `Time` to the second, `MicroTime` with six decimals."""

from datetime import UTC, datetime


def read_time(text: str) -> float:
    """Unix seconds from either form, whatever its offset. Raises ValueError."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no offset")
    return at.timestamp()


def write_time(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%dT%H:%M:%SZ}"


def write_micro_time(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
