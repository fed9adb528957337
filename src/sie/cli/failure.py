"""Why the system ended though nobody asked it to."""

from pathlib import Path

import attrs


@attrs.frozen
class Failure:
    """`log` is where more may stand."""

    reason: str
    log: Path | None = None
