"""A bucket that fails is told apart: nothing was done, or nobody knows; and no swap is ever sent a second time."""

from collections.abc import Iterator

import pytest
from obstore.store import MemoryStore

from sie.storage.backend import OutcomeUnknown, StorageError, StoreConfigError, VersionConflict, Versioned
from sie.storage.objects import ObjectBackend, open_objects
from sie.testing.gcs import GcsDouble, open_gcs_double


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[GcsDouble]:
    with open_gcs_double() as running:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", running.service_account_key())
        yield running


@pytest.fixture
def backend(double: GcsDouble) -> ObjectBackend:
    return open_objects("gs://bucket/base", allow_http=True)


def puts(double: GcsDouble) -> int:
    return sum(request.startswith("PUT") for request in double.requests)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_swap_that_a_server_fails_is_of_unknown_outcome_and_not_sent_again(
    status: int, double: GcsDouble, backend: ObjectBackend
) -> None:
    double.failing = [status]
    with pytest.raises(OutcomeUnknown, match="head"):
        backend.compare_and_swap("head", "x", None)
    assert puts(double) == 1


def test_a_swap_whose_answer_is_lost_was_done(double: GcsDouble, backend: ObjectBackend) -> None:
    double.failing = [None]
    with pytest.raises(OutcomeUnknown, match="head"):
        backend.compare_and_swap("head", "x", None)
    assert puts(double) == 1
    found = backend.read_versioned("head")
    assert found is not None
    assert found.text == "x"


@pytest.mark.parametrize("status", [401, 403])
def test_a_swap_that_is_forbidden_was_not_done(status: int, double: GcsDouble, backend: ObjectBackend) -> None:
    double.failing = [status]
    with pytest.raises(StorageError, match="head") as caught:
        backend.compare_and_swap("head", "x", None)
    assert not isinstance(caught.value, OutcomeUnknown | VersionConflict)


def test_a_read_is_tried_again_and_its_failure_is_one_line(double: GcsDouble, backend: ObjectBackend) -> None:
    version = backend.compare_and_swap("head", "x", None)
    double.failing = [503]
    assert backend.read_versioned("head") == Versioned("x", version)
    double.failing = [403]
    with pytest.raises(StorageError, match="head") as caught:
        backend.read_versioned("head")
    assert "\n" not in str(caught.value)


def test_an_object_that_vanished_is_a_conflict_and_a_bucket_that_is_missing_is_not(
    double: GcsDouble, backend: ObjectBackend
) -> None:
    double.failing = [404, 404]
    with pytest.raises(VersionConflict, match="head"):
        backend.compare_and_swap("head", "x", "7")
    with pytest.raises(StorageError, match="head") as caught:
        backend.compare_and_swap("head", "x", None)
    assert not isinstance(caught.value, OutcomeUnknown | VersionConflict)


def test_a_service_that_tells_no_version_is_not_written_to_blindly() -> None:
    store = MemoryStore()
    backend = ObjectBackend(store, store, "version")
    with pytest.raises(OutcomeUnknown, match="tells no version"):
        backend.compare_and_swap("head", "x", None)
    with pytest.raises(StorageError, match="tells no version"):
        backend.read_versioned("head")


def test_plain_http_must_be_asked_for(double: GcsDouble) -> None:
    with pytest.raises(StorageError, match="head"):
        open_objects("gs://bucket").compare_and_swap("head", "x", None)


def test_an_address_that_no_bucket_has_is_refused() -> None:
    with pytest.raises(StoreConfigError, match="SIE_CONFIG_STORE_DIR='abfs://nonsense'"):
        open_objects("abfs://nonsense")
