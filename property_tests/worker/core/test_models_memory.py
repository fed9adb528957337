"""Models on devices that do not hold them all: the budget is kept, pins stay, everyone's work runs, nobody thrashes."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.wire.ipc import Failed, Finished
from sie.worker.core.memory import Memory
from sie.worker.core.models import ModelStates
from sie.worker.core.readiness import Refused

NAMES = ("a", "b", "c", "d")
BUDGET = 100
OF_MODELS = ("ask", "cancel", "load", "unload", "begin", "end", "work", "take idle")
STEPS = (*OF_MODELS, "ask", "work", "due", "die", "come up", *["settle"] * 6)
histories = st.lists(
    st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES), st.integers(0, 1)), min_size=20, max_size=80
)
sizes = st.fixed_dictionaries({name: st.integers(1, BUDGET) | st.just(BUDGET // 2) for name in NAMES})


@attrs.define
class Machine:
    """Devices that load what they are told, and refuse what they have no room for."""

    sizes: dict[str, int]
    board: ModelStates
    devices: int = 1
    budget: int = BUDGET
    pinned: set[str] = attrs.field(factory=set)
    clock: int = 0
    waiting: dict[str, float] = attrs.field(factory=dict)
    coming: dict[str, tuple[int, int | None]] = attrs.field(factory=dict)
    there: dict[str, int] = attrs.field(factory=dict)
    leaving: set[str] = attrs.field(factory=set)
    running: dict[str, int] = attrs.field(factory=dict)
    unused: set[str] = attrs.field(factory=set)
    """Loaded for work that waits, and has run none yet."""

    def ask(self, name: str) -> None:
        self.clock += 1
        self.waiting.setdefault(name, float(self.clock))
        self.board.judge(name, now_s=0)

    def due(self) -> None:
        for name in tuple(self.waiting):
            if isinstance(self.board.judge(name, now_s=0), Refused):
                del self.waiting[name]  # its callers are told
        due = self.board.take_due(now_s=0, waiting=self.waiting)
        for name in due.unloads:
            assert name in self.there
            assert name not in self.pinned
            assert not (name in self.unused and name in self.waiting), "it was loaded for work, and has run none"
            self.leaving.add(name)
        for name in due.loads:
            assert name not in self.there | self.coming
            memory = self.board.memory
            self.coming[name] = memory.device_of(name), memory.room_bytes(name)
        for name in due.refused:
            self.waiting.pop(name, None)
        self.check()

    def load(self, name: str) -> None:
        device, room = self.coming.pop(name)
        size = self.sizes[name]
        if room is not None and size > room:
            no_room = Failed(id=0, error_code="MODEL_LOAD_FAILED", error="no", permanent=False, error_class="OOM")
            self.board.fail(name, attrs.evolve(no_room, memory_bytes=size), now_s=0)
            return
        self.there[name] = device
        if name in self.waiting:
            self.unused.add(name)
        self.board.succeed(name, Finished(id=0, memory_bytes=size))
        self.check()

    def unload(self, name: str) -> None:
        self.leaving.discard(name)
        self.there.pop(name, None)
        self.unused.discard(name)
        self.board.unloaded(name)

    def begin(self, name: str) -> None:
        self.waiting.pop(name, None)
        self.running[name] = self.running.get(name, 0) + 1
        self.clock += 1
        self.board.memory.begin(name, now_s=self.clock)

    def end(self, name: str) -> None:
        self.running[name] -= 1
        self.unused.discard(name)
        self.board.memory.end(name)

    def die(self, device: int) -> None:
        for name in [name for name in self.leaving if self.there[name] == device]:
            self.unload(name)
        gone = [name for name, number in self.there.items() if number == device]
        self.board.memory.go_down(device)
        self.board.die(device)
        for name in gone:
            self.coming[name] = self.there.pop(name), None

    def settle(self) -> None:
        """All that is under way ends, but for what runs."""
        self.due()
        for name in [name for name in self.leaving if not self.running.get(name)]:
            self.unload(name)
        for name in tuple(self.coming):
            self.load(name)

    def check(self) -> None:
        for device in range(self.devices):
            held = sum(self.sizes[name] for name, number in self.there.items() if number == device)
            assert held <= self.budget
        assert self.board.loaded == set(self.there) - self.leaving
        assert set(self.board.memory.on(0)) | set(self.board.memory.on(1)) == set(self.there) | set(self.coming)


def drain(machine: Machine) -> None:
    """Everything goes its way until nothing moves."""
    for device in range(machine.devices):
        machine.board.memory.come_up(device)
    for _ in range(100):
        for name in [name for name, count in machine.running.items() if count]:
            machine.end(name)
        machine.settle()
        for name in [name for name in machine.waiting if name in machine.board.loaded]:
            machine.begin(name)


def act(machine: Machine, step: str, name: str) -> None:
    board = machine.board
    match step:
        case "ask":
            machine.ask(name)
        case "cancel":
            machine.waiting.pop(name, None)
        case "load" if name in machine.coming:
            machine.load(name)
        case "unload" if name in machine.leaving and not machine.running.get(name):
            machine.unload(name)
        case "begin" if name in board.runnable(2) and name in machine.waiting:
            machine.begin(name)
        case "end" if machine.running.get(name):
            machine.end(name)
        case "work" if name in board.loaded and name in machine.waiting:
            machine.begin(name)
            machine.end(name)
        case "take idle" if name in board.loaded:
            idle = board.take_idle(name, machine.waiting)
            assert not any(other in machine.waiting or machine.running.get(other) for other in idle)
            assert not machine.pinned & set(idle)
            machine.leaving.update(idle)


def act_on_device(machine: Machine, step: str, device: int) -> None:
    match step:
        case "due":
            machine.due()
        case "settle":
            machine.settle()
        case "die":
            machine.die(device)
        case _:
            machine.board.memory.come_up(device)


@pytest.mark.parametrize("devices", [1, 2])
@given(histories, sizes, st.sets(st.sampled_from(NAMES), max_size=2))
def test_the_budget_is_kept_pins_stay_and_all_work_runs_in_the_end(
    devices: int, history: list[tuple[str, str, int]], sizes: dict[str, int], pinned: set[str]
) -> None:
    board = ModelStates(Memory(devices, BUDGET))
    board.install(NAMES, ())
    board.pin(pinned)
    machine = Machine(sizes, board, devices, pinned=pinned)
    for step, name, device in history:
        act(machine, step, name) if step in OF_MODELS else act_on_device(machine, step, device % devices)
        machine.check()
    drain(machine)
    assert not machine.waiting
    if devices == 1 and sum(sizes[name] for name in pinned) <= BUDGET:
        assert pinned <= board.loaded


@given(st.permutations(NAMES), st.integers(1, 3))
def test_a_model_that_always_has_work_does_not_keep_the_others_out(order: list[str], fit: int) -> None:
    board = ModelStates(Memory(1, BUDGET))
    board.install(NAMES, ())
    machine = Machine(dict.fromkeys(NAMES, BUDGET // fit), board)
    ran = dict.fromkeys(NAMES, 0)
    for name in order:
        machine.ask(name)
    for _ in range(40):
        machine.settle()
        for name in [name for name in machine.waiting if name in board.loaded]:
            machine.begin(name)
            machine.ask(name)
            ran[name] += 1
            machine.end(name)
    assert min(ran.values()) >= 3, ran


@given(st.integers(BUDGET + 1, 10 * BUDGET))
def test_a_model_that_can_never_fit_is_refused_for_want_of_memory(size: int) -> None:
    board = ModelStates(Memory(1, BUDGET))
    board.install(["a"], ())
    machine = Machine({"a": size}, board)
    machine.ask("a")
    machine.due()
    machine.load("a")
    assert board.take_due(now_s=0).refused == ("a",)
    refused = board.judge("a", now_s=1)
    assert isinstance(refused, Refused)
    assert refused.load is not None
    assert (refused.load.error_class, refused.load.permanent) == ("OOM", False)
    assert refused.retry_after_s == 59


@given(sizes)
def test_memory_that_runs_out_while_a_model_loads_is_made_by_others_that_are_idle(sizes: dict[str, int]) -> None:
    board = ModelStates(Memory(1, 4 * BUDGET))
    board.install(NAMES, ())
    machine = Machine(sizes, board, budget=4 * BUDGET)
    for name in ("a", "b"):
        machine.ask(name)
        machine.due()
        machine.load(name)
        machine.begin(name)
        machine.end(name)
    out = Failed(id=0, error_code="MODEL_LOAD_FAILED", error="no", permanent=False, error_class="OOM")
    for gone in ("a", "b"):
        machine.ask("c")
        machine.due()
        machine.coming.pop("c")
        board.fail("c", out, now_s=0)
        machine.due()
        assert machine.leaving == {gone}
        machine.unload(gone)
    machine.due()
    machine.coming.pop("c")
    board.fail("c", out, now_s=0)
    assert isinstance(board.judge("c", now_s=1), Refused)
    assert not board.has_company("c")
    assert not board.has_due(now_s=1)
