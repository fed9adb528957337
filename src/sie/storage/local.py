"""The config store on a local disk (§9): one folder, one file an object."""

from pathlib import Path

import attrs

from sie.storage.backend import StorageError


@attrs.frozen
class LocalBackend:
    root: Path

    def read_text(self, name: str) -> str | None:
        try:
            return (self.root / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"{name}: {error}") from error

    def list_names(self, prefix: str) -> tuple[str, ...]:
        folder = self.root / prefix
        try:
            return tuple(sorted(path.name for path in folder.iterdir() if path.is_file()))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StorageError(f"{prefix}: {error}") from error
