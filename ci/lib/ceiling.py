"""A pytest plugin: every test has a ceiling, so that no wait without a bound can hold the whole run.

At the ceiling it presses Ctrl-C, which Trio delivers to the main task: the test fails and the run goes on. If the test
still holds on (a shield without a deadline), the run ends with its summary: a Trio that was broken into cannot start
again. If even that does not end it (a C call that does not return), every thread's stack is printed.
`@pytest.mark.ceiling(s)` sets another ceiling for one test, its fixtures included.
"""

import faulthandler
import os
import signal
from collections.abc import Generator
from types import FrameType

import pytest

DEFAULT_S = 30.0
BY_MARKER_S = {"system": 180.0, "engine": 180.0}
PATIENCE_S = 5.0  # between Ctrl-C and the end of the run
GRACE_S = 30.0  # between the ceiling and the end of the process
DEEP_FACTOR = 100.0  # the `deep` profile of Hypothesis draws about as many more examples


def ceiling_s(item: pytest.Item) -> float:
    """The test's own ceiling, its kind's, or the default."""
    factor = DEEP_FACTOR if item.config.getoption("--hypothesis-profile", default=None) == "deep" else 1.0
    if (own := item.get_closest_marker("ceiling")) is not None:
        return factor * float(own.args[0])
    kinds = [limit_s for name, limit_s in BY_MARKER_S.items() if item.get_closest_marker(name)]
    return factor * max(kinds, default=DEFAULT_S)


class Ceiling:
    """Arms one alarm around each phase (setup, call, teardown) of each test."""

    def __init__(self, stderr: int) -> None:
        self.stderr = stderr
        self.expired = False
        self.broken = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self.bounded(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self.bounded(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self.bounded(item))

    def bounded(self, item: pytest.Item) -> Generator[None, object, object]:
        limit_s = ceiling_s(item)
        self.expired = False
        before = signal.signal(signal.SIGALRM, self.expire)
        signal.setitimer(signal.ITIMER_REAL, limit_s, PATIENCE_S)
        faulthandler.dump_traceback_later(limit_s + GRACE_S, exit=True, file=self.stderr)
        try:
            return (yield)
        except BaseException as error:  # pytest's Failed and KeyboardInterrupt are no Exceptions
            if self.broken:
                raise pytest.exit.Exception(
                    f"{item.nodeid} did not end when it was interrupted", returncode=1
                ) from error
            if self.expired:
                raise pytest.fail.Exception(f"still running at its ceiling of {limit_s:g} s") from error
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def expire(self, _number: int, _frame: FrameType | None) -> None:
        """The second time, whatever runs is interrupted where it stands, Trio's own loop if need be."""
        if self.expired:
            self.broken = True
            raise KeyboardInterrupt
        self.expired = True
        signal.raise_signal(signal.SIGINT)


def install(config: pytest.Config) -> None:
    """Once per run, from any conftest. No ceiling under a debugger. Stderr is still the terminal's: no capture yet."""
    if not (config.getoption("usepdb") or config.pluginmanager.has_plugin(__name__)):
        config.pluginmanager.register(Ceiling(os.dup(2)), __name__)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it puts in the background
            signal.signal(signal.SIGINT, signal.default_int_handler)
