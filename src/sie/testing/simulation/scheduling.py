"""Trio's scheduler in an order that comes again: the same seed runs the same tasks in the same order."""

from trio._core import _run


def seed_scheduler(seed: int) -> None:
    """For the runs that follow. Trio has this switch for Hypothesis; outside it nobody else throws it."""
    _run._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]  # Final for everyone but Trio's own test plug-ins
    _run._r.seed(seed)
