"""What must every backend of the config store do? One list of checks, for doubles, local disks and real services alike.

Each check takes a backend over an empty place of its own and asserts.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sie.storage.backend import Backend, Named, StorageError, VersionConflict, Versioned

WRITERS = 4
INCREMENTS = 5  # of each writer; every other writer's swap may spoil one of them, so it has many tries
TRIES = 200
MANY = 40  # over one chunk of a listing, and over the reads that are made at once

TEXTS = ("", "17", "a: 1\r\nb: ü 名 \U0001f984\n", "\x00\x7f", "x" * 300_000)


def nothing_is_absent_and_lists_nothing(backend: Backend) -> None:
    assert backend.read_versioned("head") is None
    assert backend.read_versioned("models/a.yaml") is None
    assert backend.read_folder("models") == ()


def texts_come_back_to_the_byte(backend: Backend) -> None:
    for number, text in enumerate(TEXTS):
        version = backend.compare_and_swap(f"models/{number}.yaml", text, None)
        assert backend.read_versioned(f"models/{number}.yaml") == Versioned(text, version)


def only_the_present_version_is_replaced(backend: Backend) -> None:
    first = backend.compare_and_swap("head", "one", None)
    second = backend.compare_and_swap("head", "two", first)
    assert second != first
    for stale in (None, first):
        with pytest.raises(VersionConflict, match="head"):
            backend.compare_and_swap("head", "stale", stale)
    assert backend.read_versioned("head") == Versioned("two", second)


def what_is_not_there_is_not_replaced(backend: Backend) -> None:
    version = backend.compare_and_swap("epoch", "1", None)
    with pytest.raises(VersionConflict, match="head"):
        backend.compare_and_swap("head", "x", version)
    assert backend.read_versioned("head") is None


def a_folder_is_read_in_order_without_what_lies_deeper_or_beside(backend: Backend) -> None:
    names = [f"m{number:03}.yaml" for number in range(MANY)]
    for name in (*reversed(names), "deeper/x.yaml"):
        backend.compare_and_swap(f"models/{name}", f"text of {name}", None)
    backend.compare_and_swap("models-2/y.yaml", "beside", None)
    backend.compare_and_swap("epoch", "1", None)
    assert backend.read_folder("models") == tuple(Named(name, f"text of {name}") for name in names)


def names_lead_nowhere_else(backend: Backend) -> None:
    for name in ("../x", "/x", "models/../../x", "", ".lock", "models/.x", "a//b", "a\\b", "a\x00b", "a\n"):
        with pytest.raises(StorageError, match="object name"):
            backend.read_versioned(name)
        with pytest.raises(StorageError, match="object name"):
            backend.compare_and_swap(name, "x", None)


def what_is_no_text_is_refused(backend: Backend) -> None:
    with pytest.raises(StorageError, match=r"models/a\.yaml.*UTF-8"):
        backend.compare_and_swap("models/a.yaml", "half of a pair: \ud83e", None)
    assert backend.read_versioned("models/a.yaml") is None


def contended_increments_are_all_counted(backend: Backend) -> None:
    backend.compare_and_swap("epoch", "0", None)
    with ThreadPoolExecutor(WRITERS) as threads:
        for done in [threads.submit(increment, backend) for _ in range(WRITERS)]:
            done.result()
    found = backend.read_versioned("epoch")
    assert found is not None
    assert found.text == str(WRITERS * INCREMENTS)


def one_of_many_creates(backend: Backend) -> None:
    with ThreadPoolExecutor(WRITERS) as threads:
        won = list(threads.map(lambda number: _creates(backend, str(number)), range(WRITERS)))
    assert won.count(True) == 1
    found = backend.read_versioned("head")
    assert found is not None
    assert found.text == str(won.index(True))


def increment(backend: Backend) -> None:
    done = 0
    for _ in range(TRIES):
        found = backend.read_versioned("epoch")
        assert found is not None
        try:
            backend.compare_and_swap("epoch", str(int(found.text) + 1), found.version)
        except VersionConflict:
            continue
        done += 1
        if done == INCREMENTS:
            return
    raise AssertionError(f"{TRIES} tries made {done} increments")


def _creates(backend: Backend, text: str) -> bool:
    try:
        backend.compare_and_swap("head", text, None)
    except VersionConflict:
        return False
    return True


CHECKS: tuple[Callable[[Backend], None], ...] = (
    nothing_is_absent_and_lists_nothing,
    texts_come_back_to_the_byte,
    only_the_present_version_is_replaced,
    what_is_not_there_is_not_replaced,
    a_folder_is_read_in_order_without_what_lies_deeper_or_beside,
    names_lead_nowhere_else,
    what_is_no_text_is_refused,
    contended_increments_are_all_counted,
    one_of_many_creates,
)
