"""A local write is whole or not there, wherever the process ends and whatever the disk refuses."""

import errno
import fcntl
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sie.storage.backend import OutcomeUnknown, StorageError, VersionConflict, Versioned
from sie.storage.local import LOCK, WRITING, LocalBackend

STEPS = ("open", "write", "stamp", "sync", "replace", "sync folder")
SMALL = 8192
OLD, NEW = "old", "new" * SMALL


def in_child(act: Callable[[], object]) -> int:
    """What a forked child's end looks like from outside: its exit status, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def ends_at(step: str) -> Callable[[str], None]:
    return lambda reached: os._exit(7) if reached == step else None


def refuses_at(step: str, number: int) -> Callable[[str], None]:
    def reached(present: str) -> None:
        if present == step:
            raise OSError(number, os.strerror(number))

    return reached


def written(root: Path, name: str = "models/a.yaml") -> tuple[LocalBackend, str]:
    backend = LocalBackend(root)
    return backend, backend.compare_and_swap(name, OLD, None)


def listed(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_write_takes_its_steps_in_the_order_that_a_power_cut_demands(tmp_path: Path) -> None:
    seen: list[str] = []
    LocalBackend(tmp_path, seen.append).compare_and_swap("head", "x", None)
    assert tuple(seen) == STEPS


@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_ends_at_any_step_leaves_the_old_text_or_the_new(step: str, tmp_path: Path) -> None:
    backend, version = written(tmp_path)
    crashing = LocalBackend(tmp_path, ends_at(step))
    assert in_child(lambda: crashing.compare_and_swap("models/a.yaml", NEW, version)) == 7
    (found,) = backend.read_folder("models")
    assert found.text == (NEW if step == "sync folder" else OLD)
    present = backend.read_versioned("models/a.yaml")
    assert present is not None
    after = backend.compare_and_swap("models/a.yaml", "after", present.version)
    assert backend.read_versioned("models/a.yaml") == Versioned("after", after)
    assert listed(tmp_path) == [LOCK, "models/a.yaml"], "what the crash left is swept by the next write"


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_refuses_any_step_changes_nothing(step: str, number: int, tmp_path: Path) -> None:
    backend, version = written(tmp_path)
    refusing = LocalBackend(tmp_path, refuses_at(step, number))
    with pytest.raises(StorageError, match=r"a\.yaml") as caught:
        refusing.compare_and_swap("models/a.yaml", NEW, version)
    is_replaced = step == "sync folder"
    assert isinstance(caught.value, OutcomeUnknown) == is_replaced
    found = backend.read_versioned("models/a.yaml")
    assert found is not None
    assert found.text == (NEW if is_replaced else OLD)
    assert (found.version == version) != is_replaced
    assert listed(tmp_path) == [LOCK, "models/a.yaml"]


def limited(root: Path, version: str, *, dies: bool) -> None:
    """A write into a file size limit: halfway it is EFBIG, or the signal that ends the process."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if dies else signal.SIG_IGN)
    try:
        LocalBackend(root).compare_and_swap("models/a.yaml", NEW, version)
    except StorageError as error:
        os._exit(5 if not isinstance(error, OutcomeUnknown) else 6)


def test_a_disk_that_is_full_halfway_changes_nothing(tmp_path: Path) -> None:
    backend, version = written(tmp_path)
    assert in_child(lambda: limited(tmp_path, version, dies=False)) == 5
    assert backend.read_versioned("models/a.yaml") == Versioned(OLD, version)
    assert listed(tmp_path) == [LOCK, "models/a.yaml"]


def test_a_process_that_ends_halfway_leaves_a_torn_file_that_is_never_listed(tmp_path: Path) -> None:
    backend, version = written(tmp_path)
    assert in_child(lambda: limited(tmp_path, version, dies=True)) == -signal.SIGXFSZ
    assert (tmp_path / "models" / WRITING).stat().st_size == SMALL
    assert [found.text for found in backend.read_folder("models")] == [OLD]
    backend.compare_and_swap("models/b.yaml", "another", None)
    assert listed(tmp_path) == [LOCK, "models/a.yaml", "models/b.yaml"]


def test_writers_in_several_processes_lose_noincrement(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from sie.storage.local import LocalBackend\n"
        "from sie.testing.storage_contract import increment\n"
        "increment(LocalBackend(Path(sys.argv[1])))"
    )
    backend = LocalBackend(tmp_path)
    backend.compare_and_swap("epoch", "0", None)
    children = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]
    found = backend.read_versioned("epoch")
    assert found is not None
    assert found.text == "15"


def test_versions_differ_though_lengths_inodes_and_ticks_are_the_same(tmp_path: Path) -> None:
    backend, version = written(tmp_path)
    seen = {version}
    for number in range(200):
        version = backend.compare_and_swap("models/a.yaml", str(number % 10), version)
        seen.add(version)
    assert len(seen) == 201


def test_a_writer_that_holds_the_lock_for_ever_does_not_stop_the_others_for_ever(tmp_path: Path) -> None:
    _, version = written(tmp_path)
    backend = LocalBackend(tmp_path, lock_s=0.0)
    with (tmp_path / LOCK).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StorageError, match=r"\.lock: another process has held the lock"):
            backend.compare_and_swap("models/a.yaml", NEW, version)
        assert backend.read_versioned("models/a.yaml") == Versioned(OLD, version)
    backend.compare_and_swap("models/a.yaml", NEW, version)


def test_a_file_changed_by_hand_is_another_version(tmp_path: Path) -> None:
    backend, version = written(tmp_path)
    (tmp_path / "models" / "a.yaml").write_text("by hand", encoding="utf-8")
    with pytest.raises(VersionConflict):
        backend.compare_and_swap("models/a.yaml", NEW, version)


def test_bytes_that_are_no_text_are_read_and_can_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "epoch").write_bytes(b"\xff\xfe1")
    backend = LocalBackend(tmp_path)
    found = backend.read_versioned("epoch")
    assert found is not None
    backend.compare_and_swap("epoch", "2", found.version)
    assert (tmp_path / "epoch").read_bytes() == b"2"


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file", encoding="utf-8")
    (tmp_path / "head").mkdir()
    backend = LocalBackend(tmp_path)
    with pytest.raises(StorageError, match=r"models/a\.yaml"):
        backend.compare_and_swap("models/a.yaml", NEW, None)
    with pytest.raises(StorageError, match="head"):
        backend.read_versioned("head")
    with pytest.raises(StorageError, match="models"):
        backend.read_folder("models")
    name = f"{'x' * 300}.yaml"
    with pytest.raises(StorageError, match="xxx"):
        backend.compare_and_swap(name, NEW, None)


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / WRITING).symlink_to(victim)
    with pytest.raises(StorageError, match="head"):
        LocalBackend(root).compare_and_swap("head", "x", None)
    assert victim.read_text(encoding="utf-8") == "precious"
