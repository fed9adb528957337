"""What was acknowledged is kept and what was refused is nowhere, however writers on one failing store interleave.

Each writer's operation stops before every call that it makes to the disk, and the script says how that call goes; the
writers' steps fall between each other in any order. The head's own history is the judge.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.config.core.head import HEAD, Head, read_head
from sie.config.core.write import Change
from sie.config.store import ConfigStore, Stored, _At, _Held
from sie.domain.ids import ModelId
from sie.storage.backend import OutcomeUnknown, StorageError
from sie.testing.disk import Died, DiskDouble, How

MODELS = (ModelId("a"), ModelId("b/c"))
WRITERS = 3
ENOUGH = 1_000  # scripts, before a seeded bug counts as missed

Asked = Literal["commit", "remove", "settle", "load"]
Ended = Literal["acknowledged", "unknown", "refused", "dead"]


@attrs.frozen
class Step:
    """A writer that is idle begins `asked`; one that is about to call the disk does so, and it goes `how`."""

    writer: int
    asked: Asked
    model: ModelId
    how: How


@attrs.frozen
class Lands:
    which: int


@attrs.frozen
class PowerCut:
    pass


@attrs.frozen
class FillsUp:
    is_full: bool


Scripted = Step | Lands | PowerCut | FillsUp

FAULTS: tuple[How, ...] = ("refused", "answer lost", "late", "never", "unsynced", "dies before", "dies after")
ASKED: tuple[Asked, ...] = ("commit", "commit", "commit", "remove", "settle", "settle", "load")


def drawn(seed: int) -> list[Scripted]:
    """Long scripts with few faults: short ones, which Hypothesis prefers, hardly get three writers past their loads."""
    luck = Random(seed)
    fault_rate = luck.choice((0.0, 0.03, 0.1, 0.25))
    return [step(luck, fault_rate) for _ in range(luck.choice((30, 100, 300)))]


def step(luck: Random, fault_rate: float) -> Scripted:
    kind = luck.random()
    if kind < 0.01:
        return PowerCut()
    if kind < 0.05:
        return Lands(luck.randrange(4))
    if kind < 0.06:
        return FillsUp(luck.random() < 0.4)
    how = luck.choice(FAULTS) if luck.random() < fault_rate else "well"
    return Step(luck.randrange(WRITERS), luck.choice(ASKED), luck.choice(MODELS), how)


@attrs.frozen
class Outcome:
    """`began` and `ended` are lengths of the head's history."""

    change: Change | None
    how: Ended
    epoch: int = 0
    loaded: Stored | None = None
    began: int = 0
    ended: int = 0


class Running:
    """One operation in a thread of its own that takes turns with the script, so that no two run at once."""

    def __init__(self, operation: Callable[[], Outcome]) -> None:
        self._operation = operation
        self._orders: SimpleQueue[How] = SimpleQueue()
        self._news: SimpleQueue[Outcome | BaseException | None] = SimpleQueue()
        self._thread = Thread(target=self._run, daemon=True)

    def begin(self) -> Outcome | None:
        """None where it is about to call the disk."""
        self._thread.start()
        return self._heard()

    def goes_on(self, how: How) -> Outcome | None:
        self._orders.put(how)
        return self._heard()

    def asks(self) -> How:
        self._news.put(None)
        return self._orders.get()

    def _run(self) -> None:
        try:
            self._news.put(self._operation())
        except BaseException as error:  # raised where the script waits, which would wait for ever
            self._news.put(error)

    def _heard(self) -> Outcome | None:
        news = self._news.get(timeout=10)  # real seconds, for what cannot be: each operation answers or asks
        if isinstance(news, BaseException):
            raise news
        return news


class Process:
    """A writer and its lives; each life has a store of its own."""

    def __init__(self, disk: DiskDouble, name: str, history: Callable[[], int], make: type[ConfigStore]) -> None:
        self._disk, self._name, self._history, self._make = disk, name, history, make
        self._lives = 0
        self._writes = 0
        self._must_load = True  # as a service begins
        self._loads_after = {"unknown"} if name == "x" else {"unknown", "refused"}
        self.running: Running | None = None
        self.outcomes: list[Outcome] = []
        self._restart()

    def step(self, step: Step) -> None:
        if self.running is not None:
            self._heard(self.running.goes_on(step.how))
            return
        self.running = Running(self._operation(step))
        self._heard(self.running.begin())

    def die(self) -> None:
        while self.running is not None:
            self._heard(self.running.goes_on("dies before"))
        self._restart()

    def finish(self) -> None:
        while self.running is not None:
            self._heard(self.running.goes_on("well"))

    def _heard(self, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        self.running = None
        self.outcomes.append(attrs.evolve(outcome, ended=self._history()))
        self._must_load = outcome.change is not None and outcome.how in self._loads_after
        if outcome.how == "dead":
            self._restart()

    def _restart(self) -> None:
        self._lives += 1
        self._must_load = True
        self._store = self._make(self._disk.mount(self._next_call), f"{self._name}{self._lives}")

    def _next_call(self) -> How:
        return self.running.asks() if self.running else "well"

    def _operation(self, step: Step) -> Callable[[], Outcome]:
        self._writes += 1
        text = f"{self._name}: {self._writes}\n" if step.asked == "commit" else None
        store, began = self._store, self._history()
        asked, self._must_load = "load" if self._must_load else step.asked, False
        match asked:
            case "commit" | "remove":
                change = Change(step.model, text)
                return lambda: tried(change, lambda: Outcome(change, "acknowledged", store.commit(change)), began)
            case "settle":
                return lambda: tried(None, lambda: settled(store), began)
            case "load":
                return lambda: tried(None, lambda: Outcome(None, "acknowledged", loaded=store.load()), began)


def settled(store: ConfigStore) -> Outcome:
    store.settle()
    return Outcome(None, "acknowledged")


def tried(change: Change | None, operation: Callable[[], Outcome], began: int) -> Outcome:
    try:
        return attrs.evolve(operation(), began=began)
    except OutcomeUnknown:
        return Outcome(change, "unknown", began=began)
    except StorageError:
        return Outcome(change, "refused", began=began)
    except Died:
        return Outcome(change, "dead", began=began)


class Run:
    """A script carried out on a fresh disk. `writes` are the commits that the head showed and no power cut undid."""

    def __init__(self, *, digests: bool, make: type[ConfigStore] = ConfigStore) -> None:
        self.disk = DiskDouble(digests=digests)
        self.writes: list[Head] = []
        self.undone: list[Head] = []
        self._seen = 0
        self.processes = [Process(self.disk, name, lambda: len(self.writes), make) for name in "xyz"]
        self._make = make

    def carry_out(self, script: Sequence[Scripted]) -> None:
        for step in script:
            match step:
                case Step(writer):
                    self.processes[writer].step(step)
                case Lands(which) if self.disk.late:
                    self.disk.land(which % self.disk.late)
                case PowerCut():
                    for process in self.processes:
                        process.die()
                    self._watch()
                    self.disk.lose_power()
                case FillsUp(is_full):
                    self.disk.full = is_full
                case _:
                    pass
            self._watch()

    def end(self) -> Stored:
        """Everything under way ends, everything late lands, and a new process reads what is there."""
        self.disk.full = False
        for process in self.processes:
            process.finish()
            self._watch()
        while self.disk.late:
            self.disk.land()
            self._watch()
        return self._make(self.disk.mount(), "last").load()

    def outcomes(self) -> Iterator[Outcome]:
        for process in self.processes:
            yield from process.outcomes

    def _watch(self) -> None:
        """Follow the head: it goes to the next epoch, or shows a write again; back only by a power cut."""
        for change in self.disk.changes[self._seen :]:
            if change.name == HEAD:
                self._moved_to(read_head(change.text) if change.text else None)
        self._seen = len(self.disk.changes)

    def _moved_to(self, head: Head | None) -> None:
        if head is not None and (not self.writes or head.epoch > self.writes[-1].epoch):
            assert head.epoch == (self.writes[-1].epoch if self.writes else 0) + 1
            self.writes.append(head)
            return
        while self.writes and (head is None or not self.writes[-1].is_write_of(head)):
            self.undone.append(self.writes.pop())
        assert head is None or self.writes, "an epoch came again for another write"


def fold(writes: Sequence[Head]) -> Mapping[str, str]:
    models: dict[str, str] = {}
    for head in writes:
        models.pop(head.write.model_id, None)
        if head.write.text is not None:
            models[head.write.model_id] = head.write.text
    return models


def held(stored: Stored) -> Mapping[str, str]:
    return {document.stem.replace("__", "/"): document.text for document in stored.models}


def judge(run: Run, last: Stored) -> None:
    assert held(last) == fold(run.writes)
    assert last.epoch.value == len(run.writes)
    assert last.epoch.trusted
    kept = {head.epoch: head.write for head in run.writes}
    acknowledged = [outcome for outcome in run.outcomes() if outcome.how == "acknowledged"]
    for outcome in acknowledged:
        if outcome.change is not None:
            assert kept.get(outcome.epoch) == outcome.change, "an acknowledged write is lost"
    epochs = [outcome.epoch for outcome in acknowledged if outcome.change is not None]
    assert len(epochs) == len(set(epochs)), "two writes have one epoch"
    texts = {head.write.text for head in (*run.writes, *run.undone)} - {None}
    refused = {outcome.change.text for outcome in run.outcomes() if outcome.how == "refused" and outcome.change}
    assert not texts & refused, "a refused write is in the store"
    if not run.undone:
        for outcome in acknowledged:
            if outcome.loaded is not None:
                shown = run.writes[: outcome.loaded.epoch.value]
                assert outcome.began <= len(shown) <= outcome.ended
                assert held(outcome.loaded) == fold(shown), "a load shows what the store never was"


def carried_out(script: Sequence[Scripted], *, digests: bool, make: type[ConfigStore] = ConfigStore) -> None:
    run = Run(digests=digests, make=make)
    try:
        run.carry_out(script)
        judge(run, run.end())
    finally:
        for process in run.processes:
            process.die()


@given(st.integers(0, 2**32), st.booleans())
def test_what_is_acknowledged_stays_and_what_is_refused_is_nowhere(seed: int, digests: bool) -> None:
    carried_out(drawn(seed), digests=digests)


class Unsealed(ConfigStore):
    """Believes what it reads of the head, though it could still land or vanish."""

    def _seal(self, at: _At) -> _At:
        return attrs.evolve(at, is_ours=True)


class Unsettling(ConfigStore):
    """Writes the next head over one that is in no file yet."""

    def _settle(self, held: _Held) -> _Held:
        return attrs.evolve(held, settled=True)


class Forgetful(ConfigStore):
    """Does not finish what another left."""

    def _is_behind(self, at: _At) -> bool:
        return at.is_ours and super()._is_behind(at)


class Hasty(ConfigStore):
    """Takes an answer that did not come for a refusal."""

    def _find_out(self, head: Head, held: _Held, cause: OutcomeUnknown) -> _At:
        raise StorageError(f"{head.epoch} after {held.epoch}: {cause}")


class Blind(ConfigStore):
    """Overwrites the head of another writer."""

    def _swap_head(self, head: Head, held: _Held) -> _At:
        return super()._swap_head(head, attrs.evolve(held, at=self._read_head()))


@pytest.mark.parametrize("bug", [Unsealed, Unsettling, Forgetful, Hasty, Blind])
def test_each_seeded_bug_is_caught(bug: type[ConfigStore]) -> None:
    assert any(is_caught(bug, seed) for seed in range(ENOUGH))


def is_caught(bug: type[ConfigStore], seed: int) -> bool:
    try:
        carried_out(drawn(seed), digests=False, make=bug)
    except AssertionError:
        return True
    return False
