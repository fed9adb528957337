"""What happened in a simulated cluster, in order: two runs of the same script write the same bytes."""

import attrs
import trio


@attrs.define(eq=False)
class EventLog:
    """`source` is a process or a client; nothing that depends on hash order or real time may be added."""

    _events: list[tuple[float, str, str, str]] = attrs.field(factory=list, init=False)

    def add(self, source: str, event: str, detail: str = "") -> None:
        self._events.append((trio.current_time(), source, event, detail))

    def __len__(self) -> int:
        return len(self._events)

    def text(self) -> str:
        """One line an event; times in seconds since the start."""
        return "".join(f"{at:.6f} {source} {event} {detail}\n" for at, source, event, detail in self._events)
