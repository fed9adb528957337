"""Whether files are the pinned ones. Always hashed, never remembered: 90 MB take 0.1 s, and a stamp could be wrong."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from sie.adapters.api import LoadFailed


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(folder: Path, sha256: Mapping[str, str]) -> None:
    """`sha256` maps names in the folder to hex digests. Raises LoadFailed."""
    for name, expected in sha256.items():
        try:
            actual = sha256_of(folder / name)
        except FileNotFoundError as error:
            reason = f"{folder} lacks {name}, which loadtime.sha256 pins"
            raise LoadFailed(reason, error_class="NOT_FOUND", permanent=True) from error
        except OSError as error:
            reason = f"{folder / name} cannot be read: {error}"
            raise LoadFailed(reason, error_class="STORAGE", permanent=False) from error
        if actual != expected:
            reason = (
                f"{folder / name} has sha256 {actual}; loadtime.sha256 pins {expected}. If the file is a damaged "
                f"copy, delete {folder} and load again; if it is meant to be another, correct the model's configuration"
            )
            raise LoadFailed(reason, error_class="STORAGE", permanent=False)
