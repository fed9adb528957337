"""Every backend keeps one contract: the local disk, obstore over memory and over the GCS double, the disk double."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from sie.storage.backend import Backend
from sie.storage.local import LocalBackend
from sie.storage.objects import ObjectBackend, open_objects
from sie.testing.disk import DiskDouble
from sie.testing.gcs import open_gcs_double
from sie.testing.storage_contract import CHECKS

KINDS = ("local", "memory", "gcs", "double")


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    match request.param:
        case "local":
            yield LocalBackend(tmp_path / "not" / "yet")
        case "memory":
            store = MemoryStore()
            yield ObjectBackend(store, store)
        case "gcs":
            with open_gcs_double() as double:
                monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", double.service_account_key())
                yield open_objects("gs://bucket/deep/base", allow_http=True)
        case _:
            yield DiskDouble().mount()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_holds(check: Callable[[Backend], None], backend: Backend) -> None:
    check(backend)
