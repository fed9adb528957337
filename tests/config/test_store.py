"""The store's files and rules one by one: layout, recovery, the fence, and what damage is told or refused."""

import json
import logging
from collections import deque
from contextlib import suppress
from pathlib import Path

import pytest

from sie.config.core.catalog import Document
from sie.config.core.head import MAX_EPOCH
from sie.config.core.write import Change
from sie.config.store import ConfigStore, Epoch, EpochFenced, Stored
from sie.domain.ids import ModelId
from sie.storage.backend import OutcomeUnknown, StorageError
from sie.storage.local import LocalBackend
from sie.testing.disk import Died, DiskDouble, How, in_turn

A, B = ModelId("org/a"), ModelId("b")


def change(model_id: ModelId = A, text: str | None = "x: 1\n") -> Change:
    return Change(model_id, text)


def loaded(disk: DiskDouble, writer: str = "w") -> ConfigStore:
    store = ConfigStore(disk.mount(), writer)
    store.load()
    return store


def scripted(disk: DiskDouble, writer: str = "w") -> tuple[ConfigStore, deque[How]]:
    """A loaded store, and how its next calls to the disk go."""
    calls: deque[How] = deque()
    store = ConfigStore(disk.mount(in_turn(calls)), writer)
    store.load()
    return store, calls


def write(store: ConfigStore, wanted: Change) -> int:
    epoch = store.commit(wanted)
    store.settle()
    return epoch


def test_a_write_lies_where_the_published_service_looks(tmp_path: Path) -> None:
    store = ConfigStore(LocalBackend(tmp_path))
    assert store.load() == Stored(Epoch(0), ())
    assert write(store, change(A, "a: 1\n")) == 1
    assert write(store, change(B, "b: 1\n")) == 2
    assert (tmp_path / "epoch").read_bytes() == b"2"
    assert (tmp_path / "models" / "org__a.yaml").read_text(encoding="utf-8") == "# sie-config epoch 1\na: 1\n"
    assert store.read_model(A) == "a: 1\n"
    documents = (Document("models/b.yaml", "b: 1\n"), Document("models/org__a.yaml", "a: 1\n"))
    assert ConfigStore(LocalBackend(tmp_path)).load() == Stored(Epoch(2), documents)


def test_a_store_of_the_published_service_is_taken_over() -> None:
    disk = DiskDouble()
    disk.put("epoch", "41")
    disk.put("models/org__a.yaml", "a: 1\n")
    store = ConfigStore(disk.mount())
    assert store.load() == Stored(Epoch(41), (Document("models/org__a.yaml", "a: 1\n"),))
    assert store.read_model(A) == "a: 1\n"
    assert store.commit(change()) == 42


def test_a_removed_model_is_absent_and_can_be_written_again() -> None:
    disk = DiskDouble()
    store = loaded(disk)
    write(store, change())
    write(store, change(text=None))
    assert store.read_model(A) is None
    assert store.load() == Stored(Epoch(2), ())
    assert write(store, change(text="again: 1\n")) == 3
    assert store.load().models == (Document("models/org__a.yaml", "again: 1\n"),)


def test_a_commit_stands_before_its_files_and_is_read_as_committed() -> None:
    disk = DiskDouble()
    store = loaded(disk)
    store.commit(change())
    assert set(disk.texts) == {"head"}
    assert store.read_model(A) == "x: 1\n"
    assert store.read_model(B) is None
    store.settle()
    store.settle()
    assert set(disk.texts) == {"head", "epoch", "models/org__a.yaml"}


@pytest.mark.parametrize("settling_calls", range(8))
def test_a_write_cut_off_anywhere_after_its_commit_is_finished_by_the_next_load(settling_calls: int) -> None:
    disk = DiskDouble()
    write(loaded(disk), change(B, "b: 1\n"))
    store, calls = scripted(disk, "dies")
    store.commit(change(A, "a: 1\n"))
    well: How = "well"
    calls.extend([well] * settling_calls)
    calls.append("dies after")
    with suppress(Died):
        store.settle()
    disk.lose_power()
    expected = (Document("models/b.yaml", "b: 1\n"), Document("models/org__a.yaml", "a: 1\n"))
    assert ConfigStore(disk.mount()).load() == Stored(Epoch(2), expected)
    assert disk.texts["epoch"] == "2"


def test_the_second_writer_is_fenced_until_it_has_loaded_and_leaves_nothing() -> None:
    disk = DiskDouble()
    first, second = loaded(disk, "first"), loaded(disk, "second")
    write(first, change(A, "first: 1\n"))
    before = dict(disk.texts)
    for _ in range(2):
        with pytest.raises(EpochFenced, match="another writer"):
            second.commit(change(B, "second: 1\n"))
    with pytest.raises(EpochFenced):
        second.settle()
    assert disk.texts == before
    assert second.load() == Stored(Epoch(1), (Document("models/org__a.yaml", "first: 1\n"),))
    assert second.commit(change(B, "second: 1\n")) == 2


def test_a_pending_write_is_settled_before_the_next_commit_or_the_next_is_refused() -> None:
    disk = DiskDouble()
    store, calls = scripted(disk)
    store.commit(change(A, "a: 1\n"))
    calls.append("refused")
    with pytest.raises(StorageError) as caught:
        store.commit(change(B))
    assert not isinstance(caught.value, OutcomeUnknown | EpochFenced)
    assert json.loads(disk.texts["head"])["epoch"] == 1
    assert store.commit(change(B)) == 2
    assert disk.texts["epoch"] == "1"


def test_an_unanswered_swap_of_a_file_is_no_unknown_outcome_of_the_next_commit() -> None:
    disk = DiskDouble()
    store, calls = scripted(disk)
    store.commit(change())
    calls.extend(("well", "well", "never"))
    with pytest.raises(StorageError) as caught:
        store.commit(change(B))
    assert not isinstance(caught.value, OutcomeUnknown)
    assert store.commit(change(B)) == 2


@pytest.mark.parametrize("how", ["answer lost", "unsynced"])
def test_a_commit_whose_answer_was_lost_is_found_and_made_fast(how: How) -> None:
    disk = DiskDouble()
    store, calls = scripted(disk)
    calls.append(how)
    assert store.commit(change()) == 1
    disk.lose_power()
    assert ConfigStore(disk.mount()).load().epoch == Epoch(1)


def test_a_commit_that_did_not_arrive_can_not_arrive_later() -> None:
    disk = DiskDouble()
    store, calls = scripted(disk)
    write(store, change(B, "b: 1\n"))
    calls.append("late")
    with pytest.raises(StorageError, match="epoch 2 was not written") as caught:
        store.commit(change())
    assert not isinstance(caught.value, OutcomeUnknown)
    disk.land()
    assert write(store, change(B, "b: 2\n")) == 2
    assert store.load() == Stored(Epoch(2), (Document("models/b.yaml", "b: 2\n"),))


def test_an_outcome_that_cannot_be_found_out_stops_all_commits_until_a_load() -> None:
    disk = DiskDouble()
    store, calls = scripted(disk)
    write(store, change(B, "b: 1\n"))
    calls.extend(("answer lost", "refused"))
    with pytest.raises(OutcomeUnknown, match="epoch 2 may have been written"):
        store.commit(change())
    with pytest.raises(StorageError, match="must be loaded again") as caught:
        store.commit(change())
    assert not isinstance(caught.value, OutcomeUnknown)
    assert store.load().epoch == Epoch(2)
    assert store.commit(change()) == 3


@pytest.mark.parametrize(("others", "raised"), [(1, EpochFenced), (2, OutcomeUnknown)])
def test_a_lost_answer_under_another_writers_head_is_a_fence_only_where_ours_cannot_lie_below(
    others: int, raised: type[StorageError]
) -> None:
    """At the epoch that was to be ours another's write stands in its place; above it, it may stand on ours."""
    disk = DiskDouble()
    write(loaded(disk), change(B, "b: 1\n"))
    other = loaded(disk, "other")
    calls: deque[How] = deque(["well"] * 5)

    def next_call() -> How:
        how = calls.popleft() if calls else "well"
        if how == "never":  # and while the answer is waited for:
            for number in range(others):
                write(other, change(B, f"other: {number}\n"))
        return how

    store = ConfigStore(disk.mount(next_call), "ours")
    store.load()
    calls.extend(("never",))
    with pytest.raises(raised) as caught:
        store.commit(change())
    assert type(caught.value) is raised


def test_an_epoch_file_above_the_head_wins_and_the_heads_write_is_left_alone() -> None:
    disk = DiskDouble()
    write(loaded(disk), change(A, "ours: 1\n"))
    disk.put("models/org__a.yaml", "theirs: 1\n")
    disk.put("epoch", "9")
    store = ConfigStore(disk.mount())
    assert store.load() == Stored(Epoch(9), (Document("models/org__a.yaml", "theirs: 1\n"),))
    assert write(store, change(B, "b: 1\n")) == 10


@pytest.mark.parametrize("torn", ["", "  ", "1x", "-1", "+1", "1_0", "²", "9" * 19, "1" * 5000, "\udcff1"])
def test_a_torn_epoch_file_is_never_read_as_agreement(torn: str, caplog: pytest.LogCaptureFixture) -> None:
    disk = DiskDouble()
    disk.put("epoch", torn.replace("\udcff", "\x00"))
    store = ConfigStore(disk.mount())
    with caplog.at_level(logging.ERROR):
        assert store.load().epoch == Epoch(0, trusted=False)
    assert "the epoch file holds no number" in caplog.messages
    assert write(store, change()) == 1
    assert store.load().epoch == Epoch(1)


def test_a_torn_epoch_file_is_mended_from_the_head() -> None:
    disk = DiskDouble()
    write(loaded(disk), change())
    disk.put("epoch", "")
    assert loaded(disk).commit(change()) == 2
    disk.put("epoch", "garbage")
    assert ConfigStore(disk.mount()).load().epoch == Epoch(2)


def test_without_head_and_epoch_the_next_write_is_above_what_the_models_tell() -> None:
    disk, lost = DiskDouble(), DiskDouble()
    store = loaded(disk)
    for number in range(3):
        write(store, change(A, f"a: {number}\n"))
    lost.put("models/org__a.yaml", disk.texts["models/org__a.yaml"])
    lost.put("epoch", "garbage")
    assert loaded(lost).commit(change()) == 4


@pytest.mark.parametrize(
    "torn",
    [
        "",
        "{",
        "[]",
        '{"epoch": 1}',
        '{"epoch": true, "writer": "w", "stamp": "w", "write": {"model_id": "a", "text": "x"}}',
        '{"epoch": 0, "writer": "w", "stamp": "w", "write": {"model_id": "a", "text": "x"}}',
        '{"epoch": 1, "writer": "w", "stamp": "w", "write": {"model_id": "a", "text": 7}}',
        '{"epoch": 1, "writer": "w", "stamp": "w", "write": {"model_id": "a"}}',
        "[" * 100_000,
    ],
)
def test_a_torn_head_is_refused_by_name_and_not_guessed(torn: str) -> None:
    disk = DiskDouble()
    write(loaded(disk), change())
    disk.put("head", torn)
    before = dict(disk.texts)
    with pytest.raises(StorageError, match="head"):
        ConfigStore(disk.mount()).load()
    assert disk.texts == before


def test_a_head_that_names_a_file_elsewhere_writes_nothing_there() -> None:
    disk = DiskDouble()
    head = {"epoch": 1, "writer": "w", "stamp": "w", "write": {"model_id": "..\\..\\x", "text": "x"}}
    disk.put("head", json.dumps(head))
    store = ConfigStore(disk.mount())
    store.load()
    assert [name for name in disk.texts if name != "head"] == []
    with pytest.raises(StorageError, match="object name"):
        store.commit(change())


def test_a_full_disk_at_start_is_served_from_the_head_and_takes_no_write() -> None:
    disk = DiskDouble()
    loaded(disk).commit(change(A, "a: 1\n"))
    disk.full = True
    store = ConfigStore(disk.mount())
    assert store.load() == Stored(Epoch(1), (Document("models/org__a.yaml", "a: 1\n"),))
    assert store.read_model(A) == "a: 1\n"
    with pytest.raises(StorageError, match="no space"):
        store.commit(change(B))
    disk.full = False
    assert store.commit(change(B)) == 2
    assert disk.texts["models/org__a.yaml"] == "# sie-config epoch 1\na: 1\n"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (change(ModelId("x" * 251)), "file name is over 255 bytes"),
        (change(ModelId("../x")), "makes no file name"),
        (change(ModelId("ü")), "makes no file name"),
        (change(text=" \n"), "blank"),
        (change(text="\ud83e"), "no UTF-8 form"),
    ],
)
def test_what_could_be_committed_and_never_written_out_is_refused_first(wanted: Change, why: str) -> None:
    disk = DiskDouble()
    with pytest.raises(StorageError, match=why):
        loaded(disk).commit(wanted)
    assert disk.texts == {}


def test_the_highest_epoch_is_the_last() -> None:
    disk = DiskDouble()
    disk.put("epoch", str(MAX_EPOCH))
    with pytest.raises(StorageError, match="highest"):
        loaded(disk).commit(change())


def test_nothing_is_committed_before_a_load_or_after_one_that_failed() -> None:
    disk = DiskDouble()
    with pytest.raises(StorageError, match="was not loaded"):
        ConfigStore(disk.mount()).commit(change())
    calls: deque[How] = deque(["refused"])
    store = ConfigStore(disk.mount(in_turn(calls)))
    with pytest.raises(StorageError):
        store.load()
    with pytest.raises(StorageError, match="was not loaded"):
        store.commit(change())


def test_a_stored_document_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(StorageError, match=r"models/a\.yaml"):
        ConfigStore(LocalBackend(tmp_path)).load()


def test_files_that_are_no_models_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for name in ("notes.txt", ".writing", ".x.yaml", "blank.yaml"):
        (tmp_path / "models" / name).write_text("" if name == "blank.yaml" else "x: 1\n", encoding="utf-8")
    assert ConfigStore(LocalBackend(tmp_path)).load() == Stored(Epoch(0), ())
