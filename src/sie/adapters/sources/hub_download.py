"""Downloads the files of a checkpoint, by name, from the hub into its cache. Imported only when that is needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from huggingface_hub import constants, get_session, hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from sie.adapters.api import LoadFailed, Progress, Report
from sie.adapters.sources.files import INDEX_FILE, OPTIONAL, REQUIRED, SINGLE_FILE, shard_names

# The library retries an unreachable hub for half a minute; one short question first lets a machine without a hub go on
# to its next source.
_REACHABLE_WITHIN_S = 3.0


def download_snapshot(
    repo_id: str, revision: str, hub_cache: Path, report: Report, *, endpoint: str | None = None
) -> Path:
    """The folder of the revision. `endpoint` is the library's own by default. Raises LoadFailed."""
    snapshot = _Snapshot(repo_id, revision, hub_cache, endpoint or constants.ENDPOINT)
    with _translated(f"{repo_id} at {revision}"):
        get_session().head(snapshot.endpoint, timeout=_REACHABLE_WITHIN_S)
        sizes = snapshot.sizes()
        total, done = sum(sizes.values()), 0
        for name, size in sizes.items():
            report(Progress("downloading", done, total))
            snapshot.file(name)
            done += size
        report(Progress("downloading", done, total))
        return snapshot.file(REQUIRED[0]).parent


class _Snapshot:
    """One commit of one repository."""

    def __init__(self, repo_id: str, revision: str, hub_cache: Path, endpoint: str) -> None:
        self.repo_id, self.revision, self.hub_cache, self.endpoint = repo_id, revision, hub_cache, endpoint

    def sizes(self) -> dict[str, int]:
        """The files to have, with their bytes (0 where the hub does not say)."""
        sizes = {name: self._size(name) for name in REQUIRED}
        for name in OPTIONAL:
            try:
                sizes[name] = self._size(name)
            except EntryNotFoundError:
                continue
        try:
            sizes[SINGLE_FILE] = self._size(SINGLE_FILE)
        except EntryNotFoundError:
            shards = shard_names(self.file(INDEX_FILE).read_bytes())
            sizes |= {name: self._size(name) for name in (INDEX_FILE, *shards)}
        return sizes

    def file(self, name: str) -> Path:
        """Downloaded, unless the cache already has it."""
        path = hf_hub_download(
            self.repo_id, name, revision=self.revision, cache_dir=self.hub_cache, endpoint=self.endpoint
        )
        return Path(path)

    def _size(self, name: str) -> int:
        about = hf_hub_download(
            self.repo_id, name, revision=self.revision, cache_dir=self.hub_cache, endpoint=self.endpoint, dry_run=True
        )
        return about.file_size or 0


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """The library's exceptions as LoadFailed; LocalEntryNotFound, which stands for any failed connection, is also an
    EntryNotFound, and most of them are OSErrors: the order of the clauses counts."""
    try:
        yield
    except GatedRepoError as error:
        reason = f"access to {what} has not been granted: request it, then set HF_TOKEN"
        raise LoadFailed(reason, error_class="GATED", permanent=True) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        reason = f"the hub does not have {what}, or HF_TOKEN may not see it"
        raise LoadFailed(reason, error_class="NOT_FOUND", permanent=True) from error
    except (httpx2.TransportError, LocalEntryNotFoundError, FileMetadataError) as error:
        raise LoadFailed(f"the hub cannot be reached: {error}", error_class="NETWORK", permanent=False) from error
    except EntryNotFoundError as error:
        raise LoadFailed(f"{what} lacks a file: {error}", error_class="NOT_FOUND", permanent=True) from error
    except HfHubHTTPError as error:
        raise LoadFailed(f"the hub refused {what}: {error}", error_class="NETWORK", permanent=False) from error
    except OSError as error:
        raise LoadFailed(f"{what} cannot be stored: {error}", error_class="STORAGE", permanent=False) from error
