"""Trio's scheduler in an order that comes again: the same seed runs the same tasks in the same order."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from trio._core import _run


@contextmanager
def collected_between_runs() -> Iterator[None]:
    """The collector ends abandoned generators through the loop, at moments of its own: each a turn that comes in no
    other run. So it rests during a run, and what is left is collected after it, outside.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def seed_scheduler(seed: int) -> None:
    """For the runs that follow. Trio has this switch for Hypothesis; outside it nobody else throws it."""
    _run._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]  # Final for everyone but Trio's own test plug-ins
    _run._r.seed(seed)
