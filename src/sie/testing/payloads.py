"""What must every payload store do? One list of checks; and a store in memory that keeps them, for whole clusters."""

from collections.abc import Callable, Iterable

import attrs
import pytest

from sie.domain.ids import RequestId, RouterId
from sie.storage.backend import StorageError
from sie.storage.payloads import PayloadStore, PayloadTooLarge, check_size, checked_key, is_swept
from sie.wire.payload import MAX_OBJECT_BYTES, PayloadKey, item_key

OURS, OTHER = RouterId("gw-1"), RouterId("gw-10")
NEVER_S, ALWAYS_S = 0.0, 4e9
"""Before anything was put, and after everything was."""


@attrs.define(eq=False)
class MemoryPayloads:
    """`failure`, where set, is what every call meets. `unix_s` is the store's own clock."""

    unix_s: Callable[[], float] = lambda: 1e9
    failure: Exception | None = None
    objects: dict[PayloadKey, tuple[bytes, float]] = attrs.field(factory=dict)

    def put(self, key: PayloadKey, data: bytes) -> None:
        self._meet()
        check_size(key, len(data))
        self.objects[checked_key(key)] = (data, self.unix_s())

    def get(self, key: PayloadKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        self._meet()
        data, _ = self.objects.get(checked_key(key), (None, 0.0))
        check_size(key, len(data or b""), max_bytes)
        return data

    def delete(self, keys: Iterable[PayloadKey]) -> None:
        self._meet()
        for key in map(checked_key, keys):
            self.objects.pop(key, None)

    def sweep(self, *, before_unix_s: float, router: RouterId | None = None) -> int:
        self._meet()
        put = [(key, put_unix_s) for key, (_, put_unix_s) in self.objects.items()]
        old = [key for key, put_s in put if is_swept(key, put_s, before_unix_s=before_unix_s, router=router)]
        self.delete(old)
        return len(old)

    def _meet(self) -> None:
        if self.failure is not None:
            raise self.failure


def key(number: int, router: RouterId = OURS) -> PayloadKey:
    return item_key(router, RequestId("r1"), number)


def what_is_put_comes_back_to_the_byte(store: PayloadStore) -> None:
    for number, data in enumerate((b"", bytes(range(256)), b"x" * 3_000_000)):
        store.put(key(number), data)
        assert store.get(key(number)) == data


def the_last_put_counts(store: PayloadStore) -> None:
    store.put(key(0), b"long before")
    store.put(key(0), b"after")
    assert store.get(key(0)) == b"after"


def what_was_never_put_is_absent(store: PayloadStore) -> None:
    assert store.get(key(0)) is None
    store.delete([key(0)])
    assert store.sweep(before_unix_s=ALWAYS_S) == 0


def deleting_takes_all_that_is_named_and_nothing_else(store: PayloadStore) -> None:
    for number in range(4):
        store.put(key(number), b"x")
    store.delete([key(0), key(99), key(2)])
    store.delete([])
    assert [store.get(key(number)) for number in range(4)] == [None, b"x", None, b"x"]


def what_is_too_long_is_neither_put_nor_read(store: PayloadStore) -> None:
    store.put(key(0), b"12345")
    assert store.get(key(0), max_bytes=5) == b"12345"
    with pytest.raises(PayloadTooLarge, match="5 bytes long, over the limit of 4"):
        store.get(key(0), max_bytes=4)
    with pytest.raises(PayloadTooLarge, match=str(MAX_OBJECT_BYTES)):
        store.put(key(1), bytes(MAX_OBJECT_BYTES + 1))
    assert store.get(key(1)) is None


def keys_lead_nowhere_else(store: PayloadStore) -> None:
    for text in (
        "../x.bin",
        "/x",
        "a/b",
        "a\\b",
        "",
        ".",
        "..",
        ".hidden",
        "a..b",
        "a\x00",
        "a\n",
        "\u00fc",
        "x" * 201,
    ):
        wrong = PayloadKey(text)
        for use in (lambda k: store.put(k, b""), store.get, lambda k: store.delete([k])):
            with pytest.raises(StorageError, match="payload key"):
                use(wrong)


def a_sweep_takes_the_old_of_its_router(store: PayloadStore) -> None:
    store.put(key(0), b"x")
    store.put(key(0, OTHER), b"y")
    assert store.sweep(before_unix_s=NEVER_S) == 0
    assert store.sweep(before_unix_s=ALWAYS_S, router=OURS) == 1
    assert (store.get(key(0)), store.get(key(0, OTHER))) == (None, b"y")


def a_sweep_leaves_what_no_gateway_named(store: PayloadStore) -> None:
    foreign = PayloadKey("precious.bin")
    store.put(foreign, b"x")
    for number in range(30):
        store.put(key(number, OURS if number % 2 else OTHER), b"x")
    assert store.sweep(before_unix_s=ALWAYS_S) == 30
    assert store.get(foreign) == b"x"
    assert store.sweep(before_unix_s=ALWAYS_S) == 0


CHECKS: tuple[Callable[[PayloadStore], None], ...] = (
    what_is_put_comes_back_to_the_byte,
    the_last_put_counts,
    what_was_never_put_is_absent,
    deleting_takes_all_that_is_named_and_nothing_else,
    what_is_too_long_is_neither_put_nor_read,
    keys_lead_nowhere_else,
    a_sweep_takes_the_old_of_its_router,
    a_sweep_leaves_what_no_gateway_named,
)
