"""The payload store of a simulated cluster (§16.2): one for all processes, with what can befall it.

Who put an object deletes it: what is left then is told, unless its owner died, or could not reach the store.
"""

from collections.abc import Callable, Iterable, Iterator

import attrs
import trio

from sie.domain.ids import RouterId
from sie.storage.backend import StorageError
from sie.storage.payloads import PayloadStore
from sie.testing.cluster.machine import START_UNIX_S
from sie.testing.cluster.vectors import known_as
from sie.testing.cluster.weather import PAYLOADS_AWAY, PAYLOADS_LOST, Spell, Weather
from sie.testing.payloads import MemoryPayloads
from sie.wire.codec import unpack
from sie.wire.payload import MAX_OBJECT_BYTES, PayloadKey

URL = "memory://payloads"


@attrs.define(eq=False)
class PayloadDouble:
    """`texts` are those of all inputs ever put, by key; `orphans` the keys that a sweep would find in a day."""

    weather: Weather
    store: MemoryPayloads = attrs.field(factory=lambda: MemoryPayloads(_unix_s), init=False)
    texts: dict[str, str] = attrs.field(factory=dict, init=False)
    puts: int = attrs.field(default=0, init=False)
    orphans: set[PayloadKey] = attrs.field(factory=set, init=False)
    _owners: dict[PayloadKey, str] = attrs.field(factory=dict, init=False)
    _away: Spell = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._away = self.weather.spell(PAYLOADS_AWAY)

    def opener(self, process: str) -> Callable[[str], PayloadStore]:
        def open_store(url: str) -> PayloadStore:
            assert url == URL
            return _Side(self, process)

        return open_store

    def fail(self) -> None:
        self._away.begin()
        self.store.failure = StorageError("the scripted payload store is away")

    def heal(self) -> None:
        self._away.end()
        self.store.failure = None

    def lose_all(self) -> None:
        """A hand removes what is there now."""
        if self.store.objects:
            self.weather.note(PAYLOADS_LOST)
            self.store.objects.clear()

    def orphan(self, process: str) -> None:
        """Nobody is left who knows what this one has put."""
        self.orphans.update(key for key, owner in self._owners.items() if owner == process)

    def leftovers(self) -> Iterator[str]:
        if found := [key for key in self.store.objects if key not in self.orphans]:
            yield f"the payload store holds {len(found)} inputs"

    def put(self, process: str, key: PayloadKey, data: bytes) -> None:
        self.store.put(key, data)
        self.puts += 1
        self._owners[key], self.texts[key] = process, _text(data)

    def delete(self, keys: Iterable[PayloadKey]) -> None:
        named = tuple(keys)
        try:
            self.store.delete(named)
        except StorageError:
            self.orphans.update(named)
            raise


@attrs.frozen
class _Side:
    """One process's."""

    double: PayloadDouble
    process: str

    def put(self, key: PayloadKey, data: bytes) -> None:
        self.double.put(self.process, key, data)

    def get(self, key: PayloadKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        return self.double.store.get(key, max_bytes=max_bytes)

    def delete(self, keys: Iterable[PayloadKey]) -> None:
        self.double.delete(keys)

    def sweep(self, *, before_unix_s: float, router: RouterId | None = None) -> int:
        return self.double.store.sweep(before_unix_s=before_unix_s, router=router)


def _unix_s() -> float:
    return START_UNIX_S + trio.current_time()


def _text(data: bytes) -> str:
    body = unpack(data)
    return known_as(str(body.get("text"))) if isinstance(body, dict) else ""
