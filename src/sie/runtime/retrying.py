"""How long to wait before trying again: an exponential backoff as plain numbers; the waiting is the caller's."""

from collections.abc import Iterator

import attrs


@attrs.frozen
class Backoff:
    """Seconds: `initial_s`, then times `factor`, never above `cap_s`."""

    initial_s: float = 1.0
    cap_s: float = 60.0
    factor: float = 2.0

    def delays(self) -> Iterator[float]:
        """Endless, never falling."""
        delay_s = self.initial_s
        while True:
            yield min(delay_s, self.cap_s)
            delay_s = min(delay_s * self.factor, self.cap_s)
