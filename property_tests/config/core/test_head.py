"""What the store writes reads back as it was, and what it did not write is refused or is a plain document."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.config.core.head import (
    MAX_EPOCH,
    Head,
    Unreadable,
    documents_of,
    file_name,
    head_text,
    model_epoch,
    model_file,
    model_text,
    problem_of,
    read_epoch,
    read_head,
)
from sie.config.core.write import Change
from sie.domain.ids import InvalidId, ModelId, model_id

TEXTS = st.text().filter(lambda text: text.strip())
IDS = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9._/-]{0,30}", fullmatch=True).map(ModelId)
EPOCHS = st.integers(1, MAX_EPOCH)
CHANGES = st.builds(Change, IDS, st.none() | TEXTS)
HEADS = st.builds(Head, EPOCHS, st.text(), st.text(), CHANGES)


@given(HEADS)
def test_a_head_reads_back_whole(head: Head) -> None:
    assert read_head(head_text(head)) == head


@given(HEADS, st.integers(0, 400))
def test_a_head_that_lost_its_end_is_refused(head: Head, kept: int) -> None:
    text = head_text(head)
    with pytest.raises(Unreadable, match=r"^head "):
        read_head(text[: min(kept, len(text) - 1)])


@given(st.text())
def test_any_other_text_is_no_head(text: str) -> None:
    with pytest.raises(Unreadable, match=r"^head "):
        read_head(text)


@given(CHANGES, EPOCHS)
def test_a_model_file_tells_its_document_and_epoch(change: Change, epoch: int) -> None:
    file = model_file(change, epoch)
    assert model_text(file) == change.text
    assert model_epoch(file) == epoch


@given(CHANGES, EPOCHS, EPOCHS)
def test_the_same_document_at_another_epoch_is_another_file(change: Change, one: int, other: int) -> None:
    assert (model_file(change, one) == model_file(change, other)) == (one == other)


@given(st.text().filter(lambda text: not text.startswith("# sie-config")))
def test_a_file_of_another_writer_is_its_document(text: str) -> None:
    assert model_text(text) == (text if text.strip() else None)
    assert model_epoch(text) == 0


@given(EPOCHS | st.just(0))
def test_an_epoch_file_reads_back(epoch: int) -> None:
    assert read_epoch(str(epoch)) == read_epoch(f" {epoch}\n") == epoch


@given(st.text())
def test_what_is_not_all_digits_is_no_epoch(text: str) -> None:
    digits = text.strip()
    if not digits or set(digits) - set(string.digits):
        assert read_epoch(text) is None


@given(st.text(alphabet="ab_./-", min_size=1, max_size=8), st.text(alphabet="ab_./-", min_size=1, max_size=8))
def test_two_models_never_share_a_file(one: str, other: str) -> None:
    try:
        first, second = model_id(one), model_id(other)
    except InvalidId:
        return
    assert (file_name(first) == file_name(second)) == (first == second)


@given(CHANGES, st.integers(0, MAX_EPOCH - 1))
def test_what_ids_and_documents_allow_can_be_stored(change: Change, epoch: int) -> None:
    assert problem_of(change, epoch) is None
    assert problem_of(change, MAX_EPOCH) is not None


@given(st.lists(CHANGES, max_size=6), st.none() | HEADS)
def test_documents_are_those_of_the_files_with_what_the_head_has(changes: list[Change], pending: Head | None) -> None:
    files = {file_name(change.model_id): model_file(change, 1) for change in changes}
    expected = {file_name(change.model_id): change.text for change in changes}
    if pending:
        expected[file_name(pending.write.model_id)] = pending.write.text
    found = documents_of([*files.items(), ("notes.txt", "x")], pending)
    assert {document.name: document.text for document in found} == {
        f"models/{name}": text for name, text in expected.items() if text is not None
    }
    assert [document.name for document in found] == sorted(document.name for document in found)
