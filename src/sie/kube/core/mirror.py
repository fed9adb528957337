"""What do we hold of the server's objects after a listing or an event, and what changed by it?

Events come in the server's order, so the last one of a name counts; resource versions are never compared but for
equality. A deletion that nobody was told of shows in the next listing.
"""

from collections.abc import Mapping
from typing import Generic

import attrs

from sie.kube.core.values import Bookmark, Change, Event, Listing, Put, Removed, T


@attrs.define(eq=False)
class Mirror(Generic[T]):
    """The objects of one kind in one namespace, by name. `resource_version` is where a watch goes on; None asks for a
    listing.
    """

    _items: dict[str, T] = attrs.field(factory=dict, init=False)
    resource_version: str | None = attrs.field(default=None, init=False)

    @property
    def items(self) -> Mapping[str, T]:
        return self._items

    def relisted(self, listing: Listing[T]) -> tuple[Change[T], ...]:
        """Removals first, in the order of the names."""
        present = {item.metadata.name: item for item in listing.items}
        removed = [Removed(self._items[name]) for name in sorted(self._items.keys() - present.keys())]
        put = [Put(item) for name, item in sorted(present.items()) if self._items.get(name) != item]
        self._items = present
        self.resource_version = listing.resource_version
        return (*removed, *put)

    def receive(self, event: Event[T]) -> Change[T] | None:
        """None where nothing changed, as by what was told before."""
        if isinstance(event, Bookmark):
            self.resource_version = event.resource_version
            return None
        metadata = event.item.metadata
        self.resource_version = metadata.resource_version or self.resource_version
        held = self._items.get(metadata.name)
        if isinstance(event, Put):
            self._items[metadata.name] = event.item
            return None if event.item == held else event
        if held is None or held.metadata.uid != metadata.uid:
            return None  # another object has that name by now, or none
        del self._items[metadata.name]
        return event

    def forget_version(self) -> None:
        """The objects stay as they are known until the next listing."""
        self.resource_version = None
