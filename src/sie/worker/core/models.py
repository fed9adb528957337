"""What is each model of this worker doing, which are to be loaded or unloaded now, what do requests get? Sans-IO.

A model is loaded at its first item, or because it is preloaded or pinned; others leave for it where memory is short
(`eviction`). One whose load failed rests, and its items are refused meanwhile (`cooldowns`).
"""

from collections.abc import Iterable, Mapping

import attrs

from sie.domain.errors import ErrorCode
from sie.domain.worker import ModelState
from sie.wire.ipc import Failed, Finished, ModelUpdate
from sie.worker.core.eviction import NO_WORK, Evict, Fits, Later, Never, Resident, Room, idle_ones, plan_room
from sie.worker.core.memory import Memory
from sie.worker.core.readiness import Coming, Due, Readiness, Ready, Rest, decide_rest

NOTHING: Mapping[str, float] = {}
FIRST = -1.0
"""As the order of work: before any that waits."""


@attrs.define
class ModelStates:
    """`loaded` names what the backend can run. Serving ids throughout; `waiting` maps to the oldest work's order."""

    memory: Memory = attrs.field(factory=Memory)
    loaded: set[str] = attrs.field(factory=set, init=False)
    _states: dict[str, ModelState] = attrs.field(factory=dict, init=False)
    _preloads: set[str] = attrs.field(factory=set, init=False)
    _pins: frozenset[str] = attrs.field(default=frozenset(), init=False)
    """Served here or not."""
    _wanted: set[str] = attrs.field(factory=set, init=False)
    _under_way: set[str] = attrs.field(factory=set, init=False)
    _returning: set[str] = attrs.field(factory=set, init=False)
    _unserved: set[str] = attrs.field(factory=set, init=False)
    """In the backend, and to leave it."""
    _leaving: set[str] = attrs.field(factory=set, init=False)
    _rests: dict[str, Rest] = attrs.field(factory=dict, init=False)
    _outdated: set[str] = attrs.field(factory=set, init=False)
    """Loads under way for what is no longer wanted so."""

    def install(self, serving_ids: Iterable[str], changed: Iterable[str]) -> None:
        """These are served from now on, and no others; the backend loads those `changed` that it has anew."""
        served = tuple(serving_ids)
        for serving_id in self._states.keys() - set(served):
            self._forget(serving_id)
        for serving_id in served:
            self._states.setdefault(serving_id, ModelState(serving_id, "available"))
        for serving_id in changed:
            self._renew(serving_id)

    def preload(self, serving_ids: Iterable[str]) -> None:
        """Load these, and try again by itself while that can help."""
        self._preloads.update(serving_ids)
        self._wanted.update(self._preloads)

    def pin(self, serving_ids: Iterable[str]) -> None:
        """Those of these that are served are loaded, and tried again by themselves; no others are for a pin's sake.

        Unlike a preload, a pin says nothing of whether the worker is ready: it came to a worker that was.
        """
        self._pins = frozenset(serving_ids)

    def states(self) -> tuple[ModelState, ...]:
        return tuple(self._states.values())

    def has_preloaded(self) -> bool:
        """A model that comes back after the backend was replaced counts: its work waits here, and is not lost."""
        return all(serving_id in self.loaded | self._returning for serving_id in self._preloads)

    def runnable(self, max_batches: int) -> set[str]:
        """Those that are loaded on a device that has fewer batches than so many."""
        full = {number for number in range(self.memory.devices) if self.memory.running_on(number) >= max_batches}
        return {name for name in self.loaded if self.memory.device_of(name) not in full} if full else self.loaded

    def judge(self, serving_id: str, *, now_s: float) -> Readiness:
        """What an item for this model gets; asking makes the model wanted."""
        if serving_id in self.loaded:
            return Ready()
        rest = self._rests.get(serving_id)
        if rest is not None and now_s < rest.until_s and serving_id not in self._under_way:
            return rest.refuse(now_s=now_s)
        self._wanted.add(serving_id)
        return Coming()

    def has_due(self, *, now_s: float) -> bool:
        """Is there anything for `take_due`, which costs more?"""
        return bool(self._unserved) or any(now_s >= self._due_s(name) for name in self._to_load())

    def take_due(self, *, now_s: float, waiting: Mapping[str, float] = NOTHING) -> Due:
        """What begins now counts as begun. The oldest work comes first, and what it waits for is not taken from it."""
        unloads, loads, refused, taken = self._leave(self._unserved), list[str](), list[str](), set[int | None]()
        due = [name for name in self._to_load() if now_s >= self._due_s(name)]
        for name in sorted(due, key=lambda name: (self._order(name, waiting), name)):
            device = self.memory.find_device(name)
            match Later() if device is None or device in taken else self._plan(name, device, waiting):
                case Fits():
                    self._begin(name, device or 0, now_s=now_s)
                    loads.append(name)
                case Evict(victims):
                    unloads += self._leave(victims)
                    taken.add(device)
                case Later():
                    taken.add(device)
                case Never(room_bytes):
                    self.fail(name, _too_large(self.memory.size_of(name), room_bytes), now_s=now_s)
                    refused.append(name)
        return Due(tuple(loads), unloads, tuple(refused))

    def take_idle(self, serving_id: str, waiting: Mapping[str, float]) -> tuple[str, ...]:
        """All that can leave the device of a model that ran out of memory; their unload begins now."""
        return self._leave(idle_ones(self._residents(self.memory.device_of(serving_id), serving_id, waiting)))

    def has_company(self, serving_id: str) -> bool:
        """Does it share its device, so that there may be more room later?"""
        return len(self.memory.on(self.memory.device_of(serving_id))) > 1

    def next_due_s(self, *, now_s: float) -> float:
        """When the next model that rests may be tried again; infinity where none rests."""
        times = map(self._due_s, self._to_load())
        return min((time for time in times if time > now_s), default=float("inf"))

    def receive(self, update: ModelUpdate) -> None:
        """What the backend says while a load is under way; how it ended is for `succeed` and `fail`."""
        if update.serving_id in self._states and update.serving_id in self._under_way | self._returning:
            self._states[update.serving_id] = ModelState(update.serving_id, "loading", update.activity)

    def succeed(self, serving_id: str, answer: Finished | None = None) -> None:
        self._end(serving_id)
        if answer is not None:
            self.memory.learn_size(serving_id, answer.memory_bytes)
            self.memory.learn_device(self.memory.device_of(serving_id), answer.device_bytes)
        if serving_id in self._outdated:
            self._unserved.update({serving_id} - self._states.keys())
            self._begin_again(serving_id)
            return
        self._rests.pop(serving_id, None)
        self.loaded.add(serving_id)
        size = self.memory.size_of(serving_id)
        self._states[serving_id] = ModelState(serving_id, "loaded", "ready", memory_bytes=size)

    def fail(self, serving_id: str, failure: Failed, *, now_s: float) -> None:
        self._end(serving_id)
        may_be_elsewhere = self._learn_room(serving_id, failure)
        self.memory.remove(serving_id)
        if serving_id in self._outdated:
            self._begin_again(serving_id)
            return
        if may_be_elsewhere:
            self._wanted.add(serving_id)
            self._states[serving_id] = ModelState(serving_id, "loading", "waiting for room")
            return
        if serving_id not in self._preloads:
            self._wanted.discard(serving_id)
        rest = self._rests[serving_id] = decide_rest(failure, self._rests.get(serving_id), now_s=now_s)
        self._states[serving_id] = ModelState(serving_id, "failed", error_code=rest.code, error=failure.error)

    def unloaded(self, serving_id: str) -> None:
        self._leaving.discard(serving_id)
        self.memory.remove(serving_id)
        if serving_id in self._states:
            self._states[serving_id] = ModelState(serving_id, "available")

    def die(self, device: int = 0) -> None:
        """The backend is gone; its models are loaded again in the next one, unasked."""
        gone = {serving_id for serving_id in self.loaded if self.memory.device_of(serving_id) == device}
        for serving_id in gone:
            self._states[serving_id] = ModelState(serving_id, "loading", "restarting the backend")
        self._returning |= gone
        self.loaded -= gone

    def _plan(self, serving_id: str, device: int, waiting: Mapping[str, float]) -> Room:
        """Where memory is limited a device takes one model at a time, since what that takes may not be known yet."""
        budget = self.memory.budget_bytes(device)
        if budget is not None and any(self.memory.device_of(name) == device for name in self._under_way):
            return Later()
        residents = self._residents(device, serving_id, waiting)
        return plan_room(self.memory.size_of(serving_id), budget, residents, waiting=self._order(serving_id, waiting))

    def _residents(self, device: int, besides: str, waiting: Mapping[str, float]) -> tuple[Resident, ...]:
        return self.memory.residents(
            device,
            besides=besides,
            kept=self._kept(),
            fixed=self._under_way | self._returning,
            leaving=self._leaving | self._unserved,
            waiting=waiting,
        )

    def _order(self, serving_id: str, waiting: Mapping[str, float]) -> float:
        return FIRST if serving_id in self._kept() else waiting.get(serving_id, NO_WORK)

    def _kept(self) -> frozenset[str]:
        return self._pins | self._preloads

    def _begin(self, serving_id: str, device: int, *, now_s: float) -> None:
        self._under_way.add(serving_id)
        self.memory.place(serving_id, device, now_s=now_s)
        self._states[serving_id] = ModelState(serving_id, "loading", "waiting for the backend")

    def _leave(self, serving_ids: Iterable[str]) -> tuple[str, ...]:
        leaving = tuple(serving_ids)
        for names in (self.loaded, self._wanted, self._unserved):
            names.difference_update(leaving)
        self._leaving.update(leaving)
        for serving_id in leaving:
            if serving_id in self._states:
                self._states[serving_id] = ModelState(serving_id, "unloading")
        return leaving

    def _learn_room(self, serving_id: str, failure: Failed) -> bool:
        """Did it fail only for where it was put, so that it is to be tried again once there is more room?

        The backend may say what it takes; if it says no more than that memory ran out, others leave one by one.
        """
        device = self.memory.device_of(serving_id)
        if failure.memory_bytes > self.memory.size_of(serving_id):
            self.memory.learn_size(serving_id, failure.memory_bytes)
            return True
        room = self.memory.room_bytes(serving_id)
        if failure.error_class == "OOM" and room is not None and idle_ones(self._residents(device, serving_id, {})):
            self.memory.learn_size(serving_id, room + 1)
            return True
        self.memory.forget_size(serving_id)
        return failure.error_class == "PLACEMENT" and self.memory.has_other(device)

    def _begin_again(self, serving_id: str) -> None:
        """What came was asked for under another configuration; whether the model is still served decides."""
        self._outdated.discard(serving_id)
        if serving_id in self._states:
            self._wanted.add(serving_id)
            self._states[serving_id] = ModelState(serving_id, "loading", "its configuration changed")

    def _to_load(self) -> set[str]:
        wanted = self._wanted | (self._pins & self._states.keys())
        return {serving_id for serving_id in wanted if not self._is_busy(serving_id)}

    def _forget(self, serving_id: str) -> None:
        if serving_id in self.loaded:
            self._unserved.add(serving_id)
        if serving_id in self._under_way | self._returning:
            self._outdated.add(serving_id)
        for names in (self.loaded, self._wanted, self._preloads):
            names.discard(serving_id)
        del self._states[serving_id]
        self._rests.pop(serving_id, None)

    def _renew(self, serving_id: str) -> None:
        """What failed with other words may succeed with these; what loads now is out of date when it comes."""
        self.memory.forget_size(serving_id)
        if serving_id in self._rests:
            del self._rests[serving_id]
            self._states[serving_id] = ModelState(serving_id, "available")
        if serving_id in self._under_way | self._returning:
            self._outdated.add(serving_id)
        elif serving_id in self.loaded:
            self.loaded.discard(serving_id)
            self._wanted.add(serving_id)
            self._states[serving_id] = ModelState(serving_id, "loading", "its configuration changed")

    def _end(self, serving_id: str) -> None:
        self._under_way.discard(serving_id)
        self._returning.discard(serving_id)

    def _is_busy(self, serving_id: str) -> bool:
        busy = (self.loaded, self._under_way, self._returning, self._leaving, self._unserved)
        return any(serving_id in names for names in busy)

    def _due_s(self, serving_id: str) -> float:
        rest = self._rests.get(serving_id)
        return rest.until_s if rest else 0.0


def _too_large(need_bytes: int, room_bytes: int) -> Failed:
    message = f"the model takes {need_bytes} bytes, and the device has {room_bytes} for it beside those that stay"
    return Failed(id=0, error_code=ErrorCode.MODEL_LOAD_FAILED, error=message, permanent=False, error_class="OOM")
