"""What can a caller do with a Kubernetes API server, within one namespace? Protocols by role; `sie.kube.client` is the
real thing. Each call raises KubeError.
"""

from collections.abc import Callable
from typing import Protocol

from sie.kube.core.documents import Kind
from sie.kube.core.values import Document, Event, Listing, T

Receive = Callable[[tuple[Event[T], ...]], None]
"""Takes the next events of a watch, in order; returns at once."""


class Objects(Protocol):
    """One object at a time."""

    async def get(self, kind: Kind[T], name: str) -> T: ...

    async def create(self, kind: Kind[T], item: T) -> T: ...

    async def replace(self, kind: Kind[T], item: T) -> T:
        """With the resource version that it was read at; without one, whatever is there."""
        ...

    async def merge_patch(self, kind: Kind[T], name: str, patch: Document) -> T: ...

    async def delete(
        self, kind: Kind[T], name: str, *, uid: str | None = None, resource_version: str | None = None
    ) -> None:
        """Only that object, at only that version, where they are given."""
        ...


class Watched(Protocol):
    """All of a kind, and what happens to them."""

    async def list(self, kind: Kind[T], *, selector: str = "") -> Listing[T]: ...

    async def watch_once(
        self,
        kind: Kind[T],
        receive: Receive[T],
        *,
        resource_version: str,
        span_s: int,
        selector: str = "",
    ) -> None:
        """Returns when the server ends it, which it should after `span_s`."""
        ...


class Kube(Objects, Watched, Protocol):
    """Both."""
