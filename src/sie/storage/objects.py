"""How does the config store lie in a bucket of S3, GCS or Azure (§9)? One object a text, by obstore's blocking calls.

Imported where the store's address is such a bucket, because obstore is an extra. A swap is sent once: a second try
would find the first one's object and be refused by it, which looks like another writer.
GCS was run against a double of ours alone (testing/gcs.py), never against the real service.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import attrs
import obstore
from obstore import exceptions
from obstore.store import GCSStore, from_url

from sie.storage.backend import (
    Named,
    OutcomeUnknown,
    StorageError,
    StoreConfigError,
    VersionConflict,
    Versioned,
    checked,
    decoded,
    encoded,
)

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

REQUEST_S = 10
CONNECT_S = 3
READ_RETRIES = 2
READS_AT_ONCE = 16  # a store of 10,000 models is read at start; one by one that would take minutes

_CONFLICTS = (exceptions.AlreadyExistsError, exceptions.PreconditionError)
_REFUSALS = (  # the service or obstore said no: nothing was written
    exceptions.InvalidPathError,
    exceptions.NotSupportedError,
    exceptions.PermissionDeniedError,
    exceptions.UnauthenticatedError,
    exceptions.UnknownConfigurationKeyError,
)


@attrs.frozen
class ObjectBackend:
    """`told_by` is the answer's field that a swap is conditional on: GCS's generation, the others' entity tag."""

    reads: ObjectStore
    writes: ObjectStore
    told_by: Literal["e_tag", "version"] = "e_tag"

    def read_versioned(self, name: str) -> Versioned | None:
        with _told(name):
            try:
                found = obstore.get(self.reads, checked(name))
                data = bytes(found.bytes())
            except FileNotFoundError:  # also obstore's NotFoundError
                return None
        return Versioned(decoded(data), self._version(name, found.meta[self.told_by]))

    def compare_and_swap(self, name: str, text: str, version: str | None) -> str:
        data = encoded(name, text)
        try:
            put = obstore.put(self.writes, checked(name), data, mode=self._mode(version), use_multipart=False)
        except _CONFLICTS as error:
            raise VersionConflict(f"{name}: another writer changed it") from error
        except FileNotFoundError as error:
            if version is not None:  # S3 says so where the object that was to be replaced is gone
                raise VersionConflict(f"{name}: another writer removed it") from error
            raise StorageError(f"{name}: {first_line(error)}") from error
        except _REFUSALS as error:
            raise StorageError(f"{name}: {first_line(error)}") from error
        except exceptions.BaseError as error:
            raise OutcomeUnknown(f"{name}: {first_line(error)}") from error
        try:
            return self._version(name, put[self.told_by])
        except StorageError as error:
            raise OutcomeUnknown(str(error)) from error

    def read_folder(self, prefix: str) -> tuple[Named, ...]:
        with _told(prefix):
            listed = obstore.list_with_delimiter(self.reads, checked(prefix))["objects"]
        names = sorted(entry["path"].rpartition("/")[2] for entry in listed)
        wanted = [name for name in names if name and not name.startswith(".")]
        with ThreadPoolExecutor(READS_AT_ONCE) as threads:
            found = list(threads.map(lambda name: self.read_versioned(f"{prefix}/{name}"), wanted))
        return tuple(Named(name, read.text) for name, read in zip(wanted, found, strict=True) if read is not None)

    def _mode(self, version: str | None) -> UpdateVersion | Literal["create"]:
        if version is None:
            return "create"
        return {"version": version} if self.told_by == "version" else {"e_tag": version}

    def _version(self, name: str, told: str | None) -> str:
        if not told:
            raise StorageError(f"{name}: the service tells no {self.told_by}, which a safe write needs")
        return told


@attrs.frozen
class Clients:
    """`retrying` is for what may be sent twice."""

    retrying: ObjectStore
    once: ObjectStore


def open_objects(url: str, *, allow_http: bool = False) -> ObjectBackend:
    """Raises StoreConfigError."""
    clients = open_clients("SIE_CONFIG_STORE_DIR", url, allow_http=allow_http)
    told_by: Literal["e_tag", "version"] = "version" if isinstance(clients.once, GCSStore) else "e_tag"
    return ObjectBackend(clients.retrying, clients.once, told_by)


def open_clients(setting: str, url: str, *, allow_http: bool = False) -> Clients:
    """Credentials and endpoints come from the environment variables that each service's own tools read; an endpoint
    without TLS must be asked for, on S3 also by AWS_ALLOW_HTTP=true. Raises StoreConfigError, which names `setting`.
    """
    client: ClientConfig = {"timeout": timedelta(seconds=REQUEST_S), "connect_timeout": timedelta(seconds=CONNECT_S)}
    if allow_http or (url.startswith("s3://") and os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true"):
        client["allow_http"] = True
    again: RetryConfig = {"max_retries": READ_RETRIES, "retry_timeout": timedelta(seconds=REQUEST_S)}
    once: RetryConfig = {"max_retries": 0}
    try:
        return Clients(
            from_url(url, client_options=client, retry_config=again),
            from_url(url, client_options=client, retry_config=once),
        )
    except (exceptions.BaseError, ValueError) as error:
        raise StoreConfigError(f"{setting}={url!r} cannot be opened: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """The first of many: the others are obstore's insides."""
    return str(error).partition("\n")[0]


@contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except (exceptions.BaseError, OSError) as error:
        raise StorageError(f"{name}: {first_line(error)}") from error
