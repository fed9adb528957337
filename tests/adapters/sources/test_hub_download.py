"""The real client against a small server that answers as the hub does, on this machine."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sie.adapters.api import LoadFailed, Progress
from sie.adapters.sources.hub import HubSource
from sie.adapters.sources.hub_download import download_snapshot
from tests.adapters.checkpoints import tiny_tensors, write_shards

COMMIT = "d" * 40


class Handler(BaseHTTPRequestHandler):
    folder: Path
    error_code: str | None = None

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.wfile.write(self.answer())

    def answer(self) -> bytes:
        path = self.folder / self.path.partition("/resolve/")[2].partition("/")[2]
        found = self.error_code is None and path.is_file()
        content = path.read_bytes() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Error-Code", self.error_code or "EntryNotFound")
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return content

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Says nothing."""


@contextmanager
def hub(folder: Path, error_code: str | None = None) -> Iterator[str]:
    handler = type("Hub", (Handler,), {"folder": folder, "error_code": error_code})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("sharded", [False, True])
def test_the_files_of_a_checkpoint_land_where_the_next_lookup_finds_them(
    tmp_path: Path, tiny: Path, sharded: bool
) -> None:
    folder = write_shards(tmp_path / "sharded", tiny_tensors()) if sharded else tiny
    (folder / "README.md").write_text("not needed")
    reports: list[Progress] = []
    with hub(folder) as endpoint:
        found = download_snapshot("test/tiny", COMMIT, tmp_path / "hub", reports.append, endpoint=endpoint)
    assert HubSource("test/tiny", COMMIT, tmp_path / "hub").find() == found
    names = {path.name for path in folder.iterdir()} - {"README.md"}
    assert {path.name: path.read_bytes() for path in found.iterdir()} == {
        name: (folder / name).read_bytes() for name in names
    }
    total = sum((folder / name).stat().st_size for name in names)
    assert (reports[0], reports[-1]) == (Progress("downloading", 0, total), Progress("downloading", total, total))


@pytest.mark.parametrize(
    ("error_code", "error_class"),
    [("GatedRepo", "GATED"), ("RepoNotFound", "NOT_FOUND"), ("RevisionNotFound", "NOT_FOUND")],
)
def test_a_refusal_by_the_hub_is_permanent(tmp_path: Path, tiny: Path, error_code: str, error_class: str) -> None:
    with hub(tiny, error_code) as endpoint, pytest.raises(LoadFailed) as failed:
        download_snapshot("test/tiny", COMMIT, tmp_path / "hub", lambda _: None, endpoint=endpoint)
    assert (failed.value.error_class, failed.value.permanent) == (error_class, True)


def test_a_repository_without_weights_is_not_found(tmp_path: Path, tiny: Path) -> None:
    (tiny / "model.safetensors").unlink()
    with hub(tiny) as endpoint, pytest.raises(LoadFailed, match="lacks a file") as failed:
        download_snapshot("test/tiny", COMMIT, tmp_path / "hub", lambda _: None, endpoint=endpoint)
    assert failed.value.error_class == "NOT_FOUND"


def test_a_hub_that_cannot_be_reached_is_a_network_failure_at_once(tmp_path: Path, tiny: Path) -> None:
    with hub(tiny) as endpoint:
        pass
    with pytest.raises(LoadFailed, match="cannot be reached") as failed:
        download_snapshot("test/tiny", COMMIT, tmp_path / "hub", lambda _: None, endpoint=endpoint)
    assert (failed.value.error_class, failed.value.permanent) == ("NETWORK", False)
