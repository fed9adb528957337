"""How does a mirror stay equal to the server's objects? One endless function: list, watch, and again as is decided.

While the server is away the mirror keeps what it knew. What to do after a watch ended is `core.rewatching`'s.
"""

import logging
from collections.abc import Callable
from typing import Generic, NoReturn

import attrs
import trio

from sie.kube.api import Watched
from sie.kube.core.documents import Kind
from sie.kube.core.errors import KubeError
from sie.kube.core.mirror import Mirror
from sie.kube.core.rewatching import Ended, decide_next, decide_span_s
from sie.kube.core.values import Change, Event, T

log = logging.getLogger(__name__)

BATCH = 16
"""Changes of a listing between two turns of the loop."""


def _ignore(_: Ended) -> None:
    pass


@attrs.define(eq=False)
class Watch(Generic[T]):
    """What is watched, and who is told: `changed` with each batch of changes, after the mirror has
    them; `ended` after each pass. Both return at once. `luck` draws from [0, 1).
    """

    kind: Kind[T]
    mirror: Mirror[T]
    changed: Callable[[tuple[Change[T], ...]], None]
    luck: Callable[[], float]
    selector: str = ""
    ended: Callable[[Ended], None] = _ignore
    _heard: int = attrs.field(default=0, init=False)

    def take(self, events: tuple[Event[T], ...]) -> None:
        self._heard += len(events)
        changes = [change for event in events if (change := self.mirror.receive(event)) is not None]
        if changes:
            self.changed(tuple(changes))

    def heard(self) -> int:
        """Since it was asked last."""
        heard, self._heard = self._heard, 0
        return heard


async def watch_forever(
    kube: Watched, watch: Watch[T], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> NoReturn:
    """`task_status` tells of the first listing. Survives every KubeError, and nothing else."""
    failures = 0
    told = trio.Event()

    def listed() -> None:
        if not told.is_set():
            told.set()
            task_status.started()

    while True:
        ended = await _pass_once(kube, watch, listed)
        watch.ended(ended)
        decided = decide_next(ended, failures, watch.luck())
        failures = decided.failures
        if ended.error is not None:
            log.warning(
                "a watch ended",
                extra={"kind": watch.kind.plural, "error": str(ended.error), "again_in_s": round(decided.wait_s, 2)},
            )
        if decided.relist:
            watch.mirror.forget_version()
        await trio.sleep(decided.wait_s)


async def _pass_once(kube: Watched, watch: Watch[T], listed: Callable[[], None]) -> Ended:
    began: float | None = None
    error: KubeError | None = None
    try:
        version = watch.mirror.resource_version or await _list_once(kube, watch)
        listed()
        began = trio.current_time()
        span_s = decide_span_s(watch.luck())
        await kube.watch_once(watch.kind, watch.take, resource_version=version, span_s=span_s, selector=watch.selector)
    except KubeError as told:
        error = told
    lasted_s = 0.0 if began is None else trio.current_time() - began
    return Ended(watch.heard(), lasted_s, error)


async def _list_once(kube: Watched, watch: Watch[T]) -> str:
    listing = await kube.list(watch.kind, selector=watch.selector)
    changes = watch.mirror.relisted(listing)
    for start in range(0, len(changes), BATCH):
        watch.changed(changes[start : start + BATCH])
        await trio.lowlevel.checkpoint()
    return listing.resource_version
