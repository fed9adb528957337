"""Does a simulation get anywhere? One whose tasks run on and on at one instant is a livelock, and ends as a failure.

Tasks that take turns are counted at each turn of the scheduler; one that never gives up control is met by a timer of
processor time, which a busy machine does not advance.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import attrs
import trio

TURNS = 20_000
"""At one instant: a burst of clients takes some hundreds."""
STUCK_S = 20.0
TICK_S = 0.5


class Livelock(Exception):
    """The simulated time stands still, and tasks run."""


@attrs.define(eq=False)
class Watch(trio.abc.Instrument):
    """Used for one run. `scope` is around all of it, and cancelled when the turns are too many."""

    turns: int = TURNS
    stuck_s: float = STUCK_S
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    is_stuck: bool = attrs.field(default=False, init=False)
    _at_s: float = attrs.field(default=0.0, init=False)
    _taken: int = attrs.field(default=0, init=False)
    _seen: tuple[float, int] = attrs.field(default=(0.0, 0), init=False)
    _stood_s: float = attrs.field(default=0.0, init=False)

    def before_run(self) -> None:
        """Trio has each signal wake its loop: a tick of our timer would be a turn that comes in no other run."""
        if threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(-1)

    def before_io_wait(self, timeout: float) -> None:
        del timeout
        now_s = trio.current_time()
        self._taken = self._taken + 1 if now_s == self._at_s else 0
        self._at_s = now_s
        if self._taken > self.turns and not self.is_stuck:
            self.is_stuck = True
            self.scope.cancel()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Signals are for the main thread alone; elsewhere only turns are counted."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, TICK_S, TICK_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            signal.signal(signal.SIGVTALRM, before)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        here = (self._at_s, self._taken)
        self._stood_s = self._stood_s + TICK_S if here == self._seen else 0.0
        self._seen = here
        if self._stood_s >= self.stuck_s:
            self.is_stuck = True  # whoever runs may swallow what is raised here
            self.scope.cancel()
            raise Livelock(f"one task has run for {self.stuck_s:g} s without giving up control")
