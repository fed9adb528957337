"""Of a batch that killed a child only the guilty input is given up, whoever counts its crashes (§8, decisions)."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.runtime.world import Machine
from sie.wire.ipc import EncodeBatch
from sie.worker.consume.crash_book import CrashBook, CrashFiles, CrashMemory, CrashStore
from sie.worker.core.crashes import MAX_AGE_S, crash_name
from sie.worker.core.flights import MAX_DEATHS
from tests.worker.doubles import MODEL, REPLY, UNIX_S, Peer, Script, delivery, machine, text_of, work
from tests.worker.stage import Stage, until, words_of, worker

POISON = "poison"


@attrs.define(eq=False)
class Children:
    """Each dies of POISON. `batches` are the texts that each batch had."""

    batches: list[list[str]] = attrs.field(factory=list)

    async def serve(self, peer: Peer) -> None:
        async def on_batch(batch: EncodeBatch) -> None:
            texts = [text_of(item.item).decode() for item in batch.items]
            self.batches.append(texts)
            if POISON in texts:
                await peer.stream.aclose()

        try:
            await peer.serve(on_batch)
        except trio.ClosedResourceError:
            return

    @property
    def fatal(self) -> int:
        return sum(POISON in texts for texts in self.batches)


@asynccontextmanager
async def loaded(children: Children, *later: Script, store: CrashStore | None = None) -> AsyncIterator[Stage]:
    async with worker(children.serve, *later, preload=(MODEL,), crash_store=store) as stage:
        await stage.until_ready()
        yield stage


async def test_only_the_guilty_one_of_a_batch_is_given_up(autojump_clock: MockClock) -> None:
    children = Children()
    async with loaded(children) as stage:
        stage.queue.put(*(delivery(work(n, text=POISON if n == 3 else f"t{n}"), n + 1) for n in range(8)))
        results = {result.item_index: result for result in await stage.results(8)}
        assert [n for n, result in results.items() if not result.success] == [3]
        assert results[3].error_code == "inference_error"
        assert f"{MAX_DEATHS} times" in (results[3].error or "")
        assert {seq: words[-1] for seq, words in words_of(stage).items()} == dict.fromkeys(range(1, 9), b"+ACK")
    assert children.fatal == MAX_DEATHS
    assert all(len(texts) == 1 for texts in children.batches if POISON not in texts)


async def test_two_guilty_ones_are_each_given_up_and_nobody_else(autojump_clock: MockClock) -> None:
    children = Children()
    async with loaded(children) as stage:
        stage.queue.put(*(delivery(work(n, text=POISON if n % 2 else "t"), n + 1) for n in range(4)))
        results = await stage.results(4)
        assert {result.item_index for result in results if not result.success} == {1, 3}
    assert children.fatal == 1 + 2 * (MAX_DEATHS - 1)


async def never_come_up(_: Peer) -> None:
    await trio.sleep_forever()


async def test_a_worker_that_starts_again_goes_on_counting_and_runs_the_suspect_alone(
    autojump_clock: MockClock,
) -> None:
    children, store = Children(), CrashMemory()
    async with loaded(children, never_come_up, store=store) as stage:
        stage.queue.put(delivery(work(0, text=POISON), 1))
        await until(lambda: len(store.kept) == 1)
    assert [crash.count for crash in store.kept.values()] == [children.fatal] == [1]
    async with loaded(children, store=store) as stage:
        stage.queue.put(delivery(work(0, text=POISON), 1, deliveries=2), delivery(work(1, text="t"), 2))
        results = {result.item_index: result.success for result in await stage.results(2)}
        assert results == {0: False, 1: True}
    assert children.fatal == MAX_DEATHS
    assert ["t", POISON] not in children.batches
    assert [POISON, "t"] not in children.batches
    assert store.kept == {}


async def test_deliveries_do_not_count_as_crashes(autojump_clock: MockClock) -> None:
    children = Children()
    async with loaded(children) as stage:
        stage.queue.put(delivery(work(0), 1, deliveries=19))
        (result,) = await stage.results(1)
        assert result.success
    assert children.fatal == 0


async def test_an_innocent_suspect_is_forgotten_once_it_has_run(autojump_clock: MockClock) -> None:
    children, store = Children(), CrashMemory()
    async with loaded(children, store=store) as stage:
        stage.queue.put(delivery(work(0, text=POISON), 1), delivery(work(1, text="t"), 2))
        await stage.results(2)
    assert store.kept == {}


KEYS = [("r1.0", REPLY), ("r1.1", REPLY)]
NAMES = [crash_name(key) for key in KEYS]


def test_counts_lie_in_files_that_another_worker_adds_to(tmp_path: Path) -> None:
    store = CrashFiles(tmp_path / "crashes")
    assert store.read(now_s=UNIX_S) == {}
    for count in (1, 2, 3):
        added = CrashFiles(tmp_path / "crashes").add(NAMES, now_s=UNIX_S + count)
        assert [added[name].count for name in NAMES] == [count, count]
    assert {name: crash.count for name, crash in store.read(now_s=UNIX_S + 3).items()} == dict.fromkeys(NAMES, 3)
    store.remove(NAMES[:1])
    store.remove(NAMES[:1])
    assert list(store.read(now_s=UNIX_S)) == NAMES[1:]


def test_what_is_old_or_unreadable_is_cleared_away(tmp_path: Path) -> None:
    store = CrashFiles(tmp_path)
    store.add(NAMES, now_s=UNIX_S)
    (tmp_path / "torn").write_bytes(b"\xff")
    assert set(store.read(now_s=UNIX_S)) == set(NAMES)
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)
    assert store.read(now_s=UNIX_S + MAX_AGE_S + 1) == {}
    assert os.listdir(tmp_path) == []


async def test_a_place_that_cannot_be_written_costs_no_count_while_the_worker_lives(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be", encoding="utf-8")
    m: Machine = machine(trio.Event())
    book = CrashBook(CrashFiles(tmp_path / "taken"), m.run_in_thread, m.unix_s)
    await book.read()
    for count in (1, 2):
        await book.record(KEYS)
        assert [book.crashes.count(key) for key in KEYS] == [count, count]
    await book.forget(KEYS[0])
    assert [book.crashes.count(key) for key in KEYS] == [0, 2]
    assert set(caplog.messages) == {"what inputs have crashed cannot be kept"}
