"""Which store does an address name (§9, §16.2)? A folder, or a bucket by its URL; the message names the setting."""

from pathlib import Path

from sie.storage.backend import Backend, StoreConfigError
from sie.storage.local import LocalBackend
from sie.storage.payload_folder import FolderPayloads
from sie.storage.payloads import PayloadStore

OBJECT_SCHEMES = ("s3", "gs", "abfs", "abfss")
CONFIG_STORE = "SIE_CONFIG_STORE_DIR"
PAYLOAD_STORE = "SIE_PAYLOAD_STORE_URL"


def open_backend(store_dir: str) -> Backend:
    """Nothing is read or made yet. Raises StoreConfigError for what cannot hold a store that is written to."""
    if store_dir.startswith("oss://"):
        raise _refused(
            CONFIG_STORE, store_dir, "oss:// has no compare-and-swap, so two writers could not be told apart (§9)"
        )
    if not _is_bucket(CONFIG_STORE, store_dir):
        return LocalBackend(Path(store_dir))
    try:
        from sie.storage.objects import open_objects  # noqa: PLC0415 (obstore is an extra)
    except ImportError as error:
        raise _without_extra(CONFIG_STORE, store_dir, error) from error
    return open_objects(store_dir)


def open_payloads(url: str) -> PayloadStore:
    """Nothing is read or made yet. Raises StoreConfigError."""
    if not _is_bucket(PAYLOAD_STORE, url):
        return FolderPayloads(Path(url))
    try:
        from sie.storage.payload_objects import open_object_payloads  # noqa: PLC0415 (obstore is an extra)
    except ImportError as error:
        raise _without_extra(PAYLOAD_STORE, url, error) from error
    return open_object_payloads(PAYLOAD_STORE, url)


def _is_bucket(setting: str, address: str) -> bool:
    """Raises StoreConfigError for a URL of no bucket."""
    scheme, is_url, rest = address.partition("://")
    if is_url and scheme not in OBJECT_SCHEMES:
        known = ", ".join(f"{each}://" for each in OBJECT_SCHEMES)
        raise _refused(setting, address, f"{scheme!r} is no known scheme; known are a folder's path and {known}")
    if is_url and not rest.partition("/")[0]:
        raise _refused(setting, address, "the URL names no bucket or container")
    return bool(is_url)


def _without_extra(setting: str, address: str, error: ImportError) -> StoreConfigError:
    return _refused(setting, address, f"the extra 'objectstore' is not installed: {error}")


def _refused(setting: str, address: str, why: str) -> StoreConfigError:
    return StoreConfigError(f"{setting}={address!r}: {why}")
