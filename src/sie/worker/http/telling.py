"""Where does what the worker tells come from? From the parts of it, at the moment when somebody asks."""

import os
from collections.abc import Callable

import attrs
import trio

from sie import __version__
from sie.bus.api import Sessions
from sie.domain.worker import WorkerStatus
from sie.worker.core.gate import Gate
from sie.worker.core.held_work import HeldWork
from sie.worker.core.report import Document, Server, backend_of, frame_of, gate_of, unready, work_of
from sie.worker.core.state import WorkerState
from sie.worker.http.status import Views


@attrs.define(eq=False)
class Telling:
    """`status` is asked, told whether there is a connection. There are no `sessions` before the bus is open."""

    state: WorkerState
    gate: Gate
    held_work: HeldWork
    status: Callable[[bool], WorkerStatus]
    sessions: Sessions | None = None
    began_s: float = attrs.field(factory=trio.current_time)

    @property
    def views(self) -> Views:
        return Views(self._unready, self._frame, self._whole)

    def _is_connected(self) -> bool:
        return self.sessions is not None and bool(self.sessions.session)

    def _unready(self) -> str | None:
        return unready(self.state, connected=self._is_connected())

    def _frame(self) -> Document:
        server = Server(__version__, os.getpid(), trio.current_time() - self.began_s)
        waiting = (held.candidate.serving_id for held in self.held_work.waiting())
        return frame_of(self.status(self._is_connected()), waiting, server)

    def _whole(self) -> Document:
        return {
            **self._frame(),
            "unready": self._unready(),
            "work": work_of(self.held_work),
            "backend": backend_of(self.state),
            "gate": gate_of(self.gate, now_s=trio.current_time()),
        }
