"""Which backend does SIE_CONFIG_STORE_DIR name (§9)? A folder, or a bucket by its URL."""

from pathlib import Path

from sie.storage.backend import Backend, StoreConfigError
from sie.storage.local import LocalBackend

OBJECT_SCHEMES = ("s3", "gs", "abfs", "abfss")


def open_backend(store_dir: str) -> Backend:
    """Nothing is read or made yet. Raises StoreConfigError for what cannot hold a store that is written to."""
    scheme, is_url, rest = store_dir.partition("://")
    if not is_url:
        return LocalBackend(Path(store_dir))
    if scheme == "oss":
        raise _refused(store_dir, "oss:// has no compare-and-swap, so two writers could not be told apart (§9)")
    if scheme not in OBJECT_SCHEMES:
        known = ", ".join(f"{each}://" for each in OBJECT_SCHEMES)
        raise _refused(store_dir, f"{scheme!r} is no known scheme; known are a folder's path and {known}")
    if not rest.partition("/")[0]:
        raise _refused(store_dir, "the URL names no bucket or container")
    try:
        from sie.storage.objects import open_objects  # noqa: PLC0415 (obstore is an extra)
    except ImportError as error:
        raise _refused(store_dir, f"the extra 'objectstore' is not installed: {error}") from error
    return open_objects(store_dir)


def _refused(store_dir: str, why: str) -> StoreConfigError:
    return StoreConfigError(f"SIE_CONFIG_STORE_DIR={store_dir!r}: {why}")
