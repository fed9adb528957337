"""When was something, in the RFC 3339 that the broker writes? To the microsecond, always with an offset."""

from datetime import UTC, datetime


def read_instant(text: str) -> datetime:
    """Raises ValueError."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no offset")
    return at


def write_instant(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
