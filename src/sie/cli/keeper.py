"""Keeps one process alive until it is told to stop: starts it, waits for its end, asks `deaths`, starts it again.

A keeper is never cancelled in the middle of a life; it ends when its process has ended and `stop` was asked for.
"""

import os
import signal
from pathlib import Path
from typing import Protocol

import attrs
import trio

from sie.cli.child import KILL_S, Child, start_child
from sie.cli.deaths import Deaths, GiveUp, Phase, Restart
from sie.cli.plan import Service
from sie.cli.screen import Screen

POLL_S = 0.05


class Home(Protocol):
    """What a keeper shares with those of the other processes."""

    @property
    def phase(self) -> Phase: ...

    def started_again(self, service: Service) -> None: ...

    def give_up(self, service: Service, reason: str) -> None: ...


@attrs.define(eq=False)
class Keeper:
    """`child` may be the process in its first life, started before there was a keeper."""

    service: Service
    log: Path
    screen: Screen
    home: Home
    child: Child | None = None
    lives: int = 0
    _stop_asked: trio.Event = attrs.field(factory=trio.Event)
    _over: trio.Event = attrs.field(factory=trio.Event)
    _deaths: Deaths = attrs.field(factory=Deaths)

    async def keep(self) -> None:
        try:
            while not self._stop_asked.is_set() and await self._live_once():
                pass
        finally:
            self._over.set()

    async def stop(self) -> None:
        """Ask it to end, and after its grace make it; bounded by the grace and KILL_S."""
        self._stop_asked.set()
        if self.child and not self._over.is_set():
            self.screen.state(self.service.name, "stopping")
            self.child.terminate()
        with trio.move_on_after(self.service.grace_s):
            await self._over.wait()
            return
        self.screen.note(f"{self.service.name} did not end within {self.service.grace_s:g} s and was killed")
        self.kill()
        with trio.move_on_after(KILL_S):
            await self._over.wait()

    def kill(self) -> None:
        if self.child:
            self.child.kill()

    async def _live_once(self) -> bool:
        """One life and the pause after it. Returns whether there is to be another."""
        self.lives += 1
        born = trio.current_time()
        self.screen.state(self.service.name, "starting")
        if self.lives > 1 or self.child is None:
            self.child = start_child(self.service.argv, self.service.environ_of(self.lives), self.log)
            self.home.started_again(self.service)
        code = await wait_for_end(self.child)
        if self._stop_asked.is_set():
            self.screen.state(self.service.name, "stopped")
            return False
        return await self._after_death(code, trio.current_time() - born)

    async def _after_death(self, code: int, lived_s: float) -> bool:
        died = f"{ending(code)} after {lived_s:.1f} s"
        match self._deaths.judge(lived_s, self.home.phase):
            case GiveUp():
                self.home.give_up(self.service, f"{self.service.name} {died}, as it did each time before")
                return False
            case Restart(delay_s):
                self.screen.note(f"{self.service.name} {died}; starting it again in {delay_s:g} s")
                with trio.move_on_after(delay_s):
                    await self._stop_asked.wait()
                return True


async def wait_for_end(child: Child) -> int:
    """Wait for the process, kill what it left in its group, reap it. Returns as `Child.reap`."""
    descriptor = open_pidfd(child.pid)
    if descriptor is None:
        return await poll_for_end(child)
    try:
        await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)
    return child.reap()


async def poll_for_end(child: Child) -> int:
    """The same where nothing tells of an end."""
    while (code := child.poll()) is None:  # noqa: ASYNC110 -- see above
        await trio.sleep(POLL_S)
    return code


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None on a system, or a kernel, without them."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def ending(code: int) -> str:
    """How a process ended, in words."""
    return f"exited with {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
