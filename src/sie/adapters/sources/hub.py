"""A checkpoint on the Hugging Face hub at a pinned revision: the hub's own cache, or else a download into it."""

from collections.abc import Sequence
from pathlib import Path

import attrs

from sie.adapters.api import Report
from sie.adapters.sources.files import Absent, look_in


@attrs.frozen
class HubSource:
    """`revision` is a commit, 40 hex digits: a branch could change between two workers."""

    repo_id: str
    revision: str
    hub_cache: Path

    @property
    def remedy(self) -> str:
        return f"hf download {self.repo_id} --revision {self.revision}"

    def find(self) -> Path | Sequence[Absent]:
        """By the cache's published layout, in which a commit's folder never changes."""
        found = look_in(self.hub_cache / f"models--{self.repo_id.replace('/', '--')}" / "snapshots" / self.revision)
        return found if isinstance(found, Path) else [found]

    def fetch(self, report: Report) -> Path:
        # imported here because a warm start has no use for an HTTP client, which takes a third of a second to import
        from sie.adapters.sources.hub_download import download_snapshot  # noqa: PLC0415

        return download_snapshot(self.repo_id, self.revision, self.hub_cache, report)
