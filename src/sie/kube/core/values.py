"""What does an API server hold for us? ConfigMaps and Leases, as values.

What a value does not name is kept in `rest` and written back, so that a read, a change and a replace lose nothing that
others put there.
"""

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

import attrs

Document = Mapping[str, object]


@attrs.frozen
class Metadata:
    """`resource_version` is opaque: it may be handed back and compared for equality, nothing else. Times are unix
    seconds.
    """

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    labels: Mapping[str, str] = attrs.field(factory=dict)
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    creation_unix_s: float | None = None
    rest: Document = attrs.field(factory=dict)


@attrs.frozen
class ConfigMap:
    metadata: Metadata
    data: Mapping[str, str] = attrs.field(factory=dict)
    rest: Document = attrs.field(factory=dict)


@attrs.frozen
class LeaseSpec:
    """Times are unix seconds, to the microsecond."""

    holder_identity: str | None = None
    lease_duration_s: int | None = None
    acquire_unix_s: float | None = None
    renew_unix_s: float | None = None
    lease_transitions: int | None = None
    rest: Document = attrs.field(factory=dict)


@attrs.frozen
class Lease:
    metadata: Metadata
    spec: LeaseSpec = attrs.field(factory=LeaseSpec)
    rest: Document = attrs.field(factory=dict)


class Resource(Protocol):
    @property
    def metadata(self) -> Metadata: ...


T = TypeVar("T", bound=Resource)


@attrs.frozen
class Listing(Generic[T]):
    """All objects at one revision, from which a watch goes on."""

    items: tuple[T, ...]
    resource_version: str


@attrs.frozen
class Put(Generic[T]):
    """The object is there, new or changed."""

    item: T


@attrs.frozen
class Removed(Generic[T]):
    """`item` as it was last."""

    item: T


@attrs.frozen
class Bookmark:
    """Nothing happened up to here."""

    resource_version: str


Change = Put[T] | Removed[T]
Event = Put[T] | Removed[T] | Bookmark
