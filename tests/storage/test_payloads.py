"""Every payload store keeps one contract: a folder, obstore over memory and the GCS double, the double in memory."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from obstore.store import GCSStore, MemoryStore, S3Store

from sie.storage.backend import StorageError, StoreConfigError
from sie.storage.opening import open_payloads
from sie.storage.payload_folder import WRITING, FolderPayloads
from sie.storage.payload_objects import ObjectPayloads, open_object_payloads
from sie.storage.payloads import PayloadStore
from sie.testing.gcs import GcsDouble, open_gcs_double
from sie.testing.payloads import ALWAYS_S, CHECKS, NEVER_S, OTHER, OURS, MemoryPayloads, key

KINDS = ("folder", "memory", "gcs", "double")


@pytest.fixture
def gcs(monkeypatch: pytest.MonkeyPatch) -> Iterator[GcsDouble]:
    with open_gcs_double() as double:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", double.service_account_key())
        yield double


def in_gcs() -> ObjectPayloads:
    return open_object_payloads("SIE_PAYLOAD_STORE_URL", "gs://bucket/deep/base", allow_http=True)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path, gcs: GcsDouble) -> PayloadStore:
    match request.param:
        case "folder":
            return FolderPayloads(tmp_path / "not" / "yet")
        case "memory":
            return ObjectPayloads(MemoryStore())
        case "gcs":
            return in_gcs()
        case _:
            return MemoryPayloads()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_holds(check: Callable[[PayloadStore], None], store: PayloadStore) -> None:
    check(store)


def listed(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_readers_see_whole_payloads_whoever_writes_them_at_once(tmp_path: Path) -> None:
    folder, contents = FolderPayloads(tmp_path), {bytes([letter]) * 200_000 for letter in b"abcd"}
    folder.put(key(0), b"a" * 200_000)
    with ThreadPoolExecutor(8) as threads:
        puts = [threads.submit(folder.put, key(0), each) for each in contents for _ in range(10)]
        seen = {threads.submit(folder.get, key(0)).result() for _ in range(60)}
        assert [put.result() for put in puts] == [None] * len(puts)
    assert seen <= contents
    assert listed(tmp_path) == [key(0)]


def test_a_process_that_ends_in_the_middle_leaves_no_payload_and_a_sweep_takes_the_rest(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from sie.storage.payload_folder import FolderPayloads; from sie.testing.payloads import key\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "FolderPayloads(Path(sys.argv[1])).put(key(0), b'x' * 100000)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == -9
    (left,) = listed(tmp_path)
    assert left.endswith(WRITING)
    folder = FolderPayloads(tmp_path)
    assert folder.get(key(0)) is None
    assert folder.sweep(before_unix_s=NEVER_S) == folder.sweep(before_unix_s=ALWAYS_S, router=OTHER) == 0
    assert folder.sweep(before_unix_s=ALWAYS_S, router=OURS) == 1
    assert listed(tmp_path) == []


def test_a_disk_that_refuses_changes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    folder = FolderPayloads(tmp_path)
    (tmp_path / key(0)).mkdir()
    with pytest.raises(StorageError, match=key(0)):
        folder.put(key(0), b"x")
    with pytest.raises(StorageError, match=f"payload {key(0)}: it is not a file"):
        folder.get(key(0))
    folder.put(key(1), b"y")
    with pytest.raises(StorageError, match=r"1 payload\(s\) could not be deleted"):
        folder.delete([key(0), key(1)])
    assert listed(tmp_path) == [key(0)], "the other one is deleted all the same"


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    root, victim = tmp_path / "root", tmp_path / "victim"
    victim.write_bytes(b"precious")
    root.mkdir()
    (root / key(0)).symlink_to(victim)
    os.mkfifo(root / key(1))
    for number in (0, 1):
        with pytest.raises(StorageError, match=key(number)):
            FolderPayloads(root).get(key(number))
    assert FolderPayloads(root).sweep(before_unix_s=ALWAYS_S) == 0
    FolderPayloads(root).put(key(0), b"ours")
    assert victim.read_bytes() == b"precious"


def test_payloads_are_not_for_everybody(tmp_path: Path) -> None:
    folder = FolderPayloads(tmp_path / "made")
    folder.put(key(0), b"x")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder.root, folder.root / key(0))]
    assert [mode & 0o007 for mode in modes] == [0, 0]


def test_a_service_that_fails_is_told_in_one_line_and_asked_again(gcs: GcsDouble) -> None:
    store = in_gcs()
    gcs.failing = [503]
    store.put(key(0), b"x")
    gcs.failing = [503]
    assert store.get(key(0)) == b"x"
    uses: tuple[Callable[[], object], ...] = (
        lambda: store.put(key(0), b"y"),
        lambda: store.get(key(0)),
        lambda: store.delete([key(0)]),
    )
    for use in uses:
        gcs.failing = [403]
        with pytest.raises(StorageError, match=key(0)) as caught:
            use()
        assert "\n" not in str(caught.value)
    gcs.failing = [403]
    with pytest.raises(StorageError, match="listing"):
        store.sweep(before_unix_s=ALWAYS_S)
    assert store.get(key(0)) == b"x"


@pytest.mark.parametrize("address", ["payload_store", "/var/lib/payloads", "a:b/c"])
def test_what_is_no_url_is_a_folder(address: str) -> None:
    assert open_payloads(address) == FolderPayloads(Path(address))


@pytest.mark.parametrize(("url", "kind"), [("s3://bucket/base", S3Store), ("gs://bucket", GCSStore)])
def test_a_bucket_is_opened_by_its_scheme(url: str, kind: type) -> None:
    store = open_payloads(url)
    assert isinstance(store, ObjectPayloads)
    assert isinstance(store.store, kind)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("oss://bucket/base", "'oss' is no known scheme"),
        ("file:///var/lib", "known are a folder's path"),
        ("s3://", "names no bucket"),
        ("abfs://nonsense/base", "cannot be opened"),
    ],
)
def test_what_can_be_no_store_is_refused_by_name(url: str, why: str) -> None:
    with pytest.raises(StoreConfigError, match="SIE_PAYLOAD_STORE_URL") as caught:
        open_payloads(url)
    assert url in str(caught.value)
    assert why in str(caught.value)


def test_a_bucket_without_the_extra_names_it_and_a_folder_does_without() -> None:
    program = (
        "import sys; sys.modules['obstore'] = None\n"
        "from sie.storage.opening import open_payloads\n"
        "open_payloads('folder')\n"
        "try:\n    open_payloads('s3://bucket')\n"
        "except Exception as error:\n    sys.exit('objectstore' not in str(error))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
