"""How does the payload store lie in a bucket of S3, GCS or Azure (§16.2)? One object a key; imported where it is used.

A put may be sent twice, unlike a swap of the config store: both have the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import attrs
import obstore
from obstore import exceptions

from sie.domain.ids import RouterId
from sie.storage.backend import StorageError
from sie.storage.objects import first_line, open_clients
from sie.storage.payloads import check_size, checked_key, is_swept
from sie.wire.payload import MAX_OBJECT_BYTES, PayloadKey

if TYPE_CHECKING:
    from obstore.store import ObjectStore

LISTED_AT_ONCE = 1000


@attrs.frozen
class ObjectPayloads:
    store: ObjectStore

    def put(self, key: PayloadKey, data: bytes) -> None:
        check_size(key, len(data))
        with _told(key):
            obstore.put(self.store, checked_key(key), data, use_multipart=False)

    def get(self, key: PayloadKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        with _told(key):
            try:
                found = obstore.get(self.store, checked_key(key))
            except FileNotFoundError:  # also obstore's NotFoundError
                return None
            check_size(key, found.meta["size"], max_bytes)
            return bytes(found.bytes())

    def delete(self, keys: Iterable[PayloadKey]) -> None:
        checked = [checked_key(key) for key in keys]
        if checked:
            with _told(checked[0]):
                self._delete(checked)

    def sweep(self, *, before_unix_s: float, router: RouterId | None = None) -> int:
        swept = 0
        with _told("listing"):
            for page in obstore.list(self.store, chunk_size=LISTED_AT_ONCE):
                old = [
                    entry["path"]
                    for entry in page
                    if is_swept(
                        entry["path"], entry["last_modified"].timestamp(), before_unix_s=before_unix_s, router=router
                    )
                ]
                self._delete(old)
                swept += len(old)
        return swept

    def _delete(self, paths: list[str] | list[PayloadKey]) -> None:
        """Where a service minds what is not there, each of the others must still go."""
        if not paths:
            return
        try:
            obstore.delete(self.store, paths)
        except FileNotFoundError:
            for path in paths:
                with suppress(FileNotFoundError):
                    obstore.delete(self.store, path)


def open_object_payloads(setting: str, url: str, *, allow_http: bool = False) -> ObjectPayloads:
    """Raises StoreConfigError."""
    return ObjectPayloads(open_clients(setting, url, allow_http=allow_http).retrying)


@contextmanager
def _told(key: str) -> Iterator[None]:
    try:
        yield
    except (exceptions.BaseError, OSError) as error:
        raise StorageError(f"payload {key}: {first_line(error)}") from error
