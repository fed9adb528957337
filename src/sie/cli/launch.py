"""The first start of all processes, before there is a supervisor to keep them: whatever goes wrong, none is left."""

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from sie.cli.child import Child, start_child
from sie.cli.logs import log_of
from sie.cli.plan import Service


@contextmanager
def started(services: Sequence[Service], logs: Path) -> Iterator[Mapping[str, Child]]:
    """All of them in their first life, by name. What is still there when the body ends is killed."""
    signal.signal(signal.SIGTERM, _exit)  # until the supervisor has its own; by default we would end without a word
    children: dict[str, Child] = {}
    try:
        for service in services:
            children[service.name] = start_child(service.argv, service.environ_of(1), log_of(logs, service.name))
        yield children
    finally:
        for child in children.values():
            if not child.reaped:
                child.reap()


def _exit(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
