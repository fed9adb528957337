"""What is each model of this worker doing, which are to be loaded now, and what do requests for them get? Sans-IO.

A model is loaded at its first item, or because it is preloaded or pinned. A load that failed for good is not tried
again; after any other failure the model rests for a while, and its items are refused meanwhile.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.domain.worker import ModelState
from sie.runtime.retrying import Backoff
from sie.wire.ipc import Failed, ModelUpdate

REST = Backoff(initial_s=30.0, cap_s=1800.0)
"""How long a model rests after a failure that may pass (wire-facts 1.7)."""


@attrs.frozen
class Ready:
    """The backend can run it."""


@attrs.frozen
class Coming:
    """Its work waits."""


@attrs.frozen
class Refused:
    """`retry_after_s` None: trying again cannot help."""

    code: ErrorCode
    message: str
    retry_after_s: int | None


Readiness: TypeAlias = Ready | Coming | Refused


@attrs.define
class Rest:
    """Until when nobody tries again, and how long the next rests are."""

    failure: Failed
    until_s: float
    delays: Iterator[float]


@attrs.define
class ModelStates:
    """`loaded` names what the backend can run. Serving ids throughout."""

    loaded: set[str] = attrs.field(factory=set, init=False)
    _states: dict[str, ModelState] = attrs.field(factory=dict, init=False)
    _preloads: set[str] = attrs.field(factory=set, init=False)
    _pins: frozenset[str] = attrs.field(default=frozenset(), init=False)
    """Served here or not."""
    _wanted: set[str] = attrs.field(factory=set, init=False)
    _under_way: set[str] = attrs.field(factory=set, init=False)
    _returning: set[str] = attrs.field(factory=set, init=False)
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

    def judge(self, serving_id: str, *, now_s: float) -> Readiness:
        """What an item for this model gets; asking makes the model wanted."""
        if serving_id in self.loaded:
            return Ready()
        rest = self._rests.get(serving_id)
        if rest is not None and now_s < rest.until_s and serving_id not in self._under_way:
            after_s = None if rest.failure.permanent else max(1, round(rest.until_s - now_s))
            return Refused(_code(rest.failure), rest.failure.error, after_s)
        self._wanted.add(serving_id)
        return Coming()

    def take_due(self, *, now_s: float) -> tuple[str, ...]:
        """The models whose load begins now; they count as under way."""
        due = tuple(sorted(name for name in self._to_load() if now_s >= self._due_s(name)))
        self._under_way.update(due)
        for serving_id in due:
            self._states[serving_id] = ModelState(serving_id, "loading", "waiting for the backend")
        return due

    def next_due_s(self, *, now_s: float) -> float:
        """When the next model that rests may be tried again; infinity where none rests."""
        times = map(self._due_s, self._to_load())
        return min((time for time in times if time > now_s), default=float("inf"))

    def receive(self, update: ModelUpdate) -> None:
        """What the backend says while a load is under way; how it ended is for `succeed` and `fail`."""
        if update.serving_id in self._states and update.serving_id in self._under_way | self._returning:
            self._states[update.serving_id] = ModelState(update.serving_id, "loading", update.activity)

    def succeed(self, serving_id: str) -> None:
        self._end(serving_id)
        if serving_id in self._outdated:
            self._begin_again(serving_id)
            return
        self._rests.pop(serving_id, None)
        self.loaded.add(serving_id)
        self._states[serving_id] = ModelState(serving_id, "loaded", "ready")

    def fail(self, serving_id: str, failure: Failed, *, now_s: float) -> None:
        self._end(serving_id)
        if serving_id in self._outdated:
            self._begin_again(serving_id)
            return
        if serving_id not in self._preloads:
            self._wanted.discard(serving_id)
        before = self._rests.get(serving_id)
        delays = before.delays if before else REST.delays()
        until_s = float("inf") if failure.permanent else now_s + next(delays)
        self._rests[serving_id] = Rest(failure, until_s, delays)
        code = _code(failure)
        self._states[serving_id] = ModelState(serving_id, "failed", error_code=code, error=failure.error)

    def die(self) -> None:
        """The backend is gone; its models are loaded again in the next one, unasked."""
        for serving_id in self.loaded:
            self._states[serving_id] = ModelState(serving_id, "loading", "restarting the backend")
        self._returning |= self.loaded
        self.loaded.clear()

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
        for names in (self.loaded, self._wanted, self._preloads, self._returning):
            names.discard(serving_id)
        if serving_id in self._under_way:
            self._outdated.add(serving_id)
        del self._states[serving_id]
        self._rests.pop(serving_id, None)

    def _renew(self, serving_id: str) -> None:
        """What failed with other words may succeed with these; what loads now is out of date when it comes."""
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
        return serving_id in self.loaded | self._under_way | self._returning

    def _due_s(self, serving_id: str) -> float:
        rest = self._rests.get(serving_id)
        return rest.until_s if rest else 0.0


def _code(failure: Failed) -> ErrorCode:
    """The child is trusted with words, not with new codes."""
    known = {code.value: code for code in ErrorCode}
    return known.get(failure.error_code, ErrorCode.MODEL_LOAD_FAILED)
