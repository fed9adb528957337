"""SIE_CONFIG_STORE_DIR names a folder or a bucket; anything else is refused at once, by name."""

import subprocess
import sys
from pathlib import Path

import pytest
from obstore.store import GCSStore, S3Store

from sie.storage.backend import StoreConfigError
from sie.storage.local import LocalBackend
from sie.storage.objects import ObjectBackend
from sie.storage.opening import open_backend


@pytest.mark.parametrize("path", ["/var/lib/store", "store", "a:b/c", "./s3:/x"])
def test_what_is_no_url_is_a_folder(path: str) -> None:
    assert open_backend(path) == LocalBackend(Path(path))


@pytest.mark.parametrize(
    ("url", "told_by"),
    [
        ("s3://bucket/base", "e_tag"),
        ("s3://bucket", "e_tag"),
        ("gs://bucket/base/", "version"),
        ("abfs://container@account.dfs.core.windows.net/base", "e_tag"),
        ("abfss://container@account.dfs.core.windows.net/base", "e_tag"),
    ],
)
def test_a_bucket_is_opened_by_its_scheme(url: str, told_by: str) -> None:
    backend = open_backend(url)
    assert isinstance(backend, ObjectBackend)
    assert backend.told_by == told_by


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("oss://bucket/base", "compare-and-swap"),
        ("file:///var/lib/store", "known are a folder's path and s3://, gs://, abfs://, abfss://"),
        ("https://bucket/base", "'https' is no known scheme"),
        ("://bucket", "'' is no known scheme"),
        ("s3://", "names no bucket"),
        ("gs:///base", "names no bucket"),
        ("abfs://nonsense/base", "cannot be opened"),
    ],
)
def test_what_can_be_no_store_is_refused_by_name(url: str, why: str) -> None:
    with pytest.raises(StoreConfigError, match="SIE_CONFIG_STORE_DIR") as caught:
        open_backend(url)
    assert url in str(caught.value)
    assert why in str(caught.value)


def test_a_bucket_without_the_extra_names_it_and_a_folder_does_without() -> None:
    program = (
        "import sys; sys.modules['obstore'] = None\n"
        "from sie.storage.opening import open_backend\n"
        "open_backend('folder')\n"
        "try: open_backend('s3://bucket')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("StoreConfigError SIE_CONFIG_STORE_DIR='s3://bucket': the extra 'objectstore'")


@pytest.mark.parametrize(
    ("url", "asked", "allowed"),
    [("s3://bucket", "true", True), ("s3://bucket", "", False), ("gs://bucket", "true", False)],
)
def test_s3_without_tls_is_asked_for_by_its_own_variable(
    url: str, asked: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ALLOW_HTTP", asked)
    backend = open_backend(url)
    assert isinstance(backend, ObjectBackend)
    assert isinstance(backend.writes, S3Store | GCSStore)
    assert bool((backend.writes.client_options or {}).get("allow_http")) == allowed
