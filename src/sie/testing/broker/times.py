"""How does the server print its clock? A simulation's clock starts at a fixed date, so that two runs print the same."""

from datetime import UTC, datetime, timedelta

from sie.bus.jetstream_api import NS_PER_S

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH_NS = int(EPOCH.timestamp()) * NS_PER_S
NEVER = "0001-01-01T00:00:00Z"


def since_epoch_ns(clock_s: float) -> int:
    return EPOCH_NS + round(clock_s * NS_PER_S)


def timestamp(clock_s: float | None) -> str:
    """RFC 3339, to the microsecond; the server prints `NEVER` for what has not happened."""
    if clock_s is None:
        return NEVER
    return (EPOCH + timedelta(seconds=clock_s)).isoformat().replace("+00:00", "Z")
