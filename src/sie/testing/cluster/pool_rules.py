"""May this become of a pool (§16.3)? Each change of the store, and each answer of a gateway, against who asked for it.

A change is right where a client asks for it at that time, or a lease is over by the clocks that there are. Whatever a
hand does is right, and what clients were promised of that pool before it no longer holds.
"""

import json
from collections.abc import Callable, Mapping, Sequence

import attrs
import trio

from sie.testing.cluster.kube_server import KubeLink, KubeServer
from sie.testing.cluster.machine import START_UNIX_S, WallClock
from sie.testing.cluster.pool_calls import PoolCall, ShownPool, Verb, read_pool_document, read_pools, spec_of
from sie.testing.cluster.pool_history import Change, Kept, PoolHistory, State
from sie.testing.cluster.served import Answer

ALLOWED_SKEW_S = 5.0
"""That gateways' clocks may be apart without harm."""
CLOSE_S = 0.001
KNOWN_S = 3.0
"""By then a watch that is well has told a change."""
LEFT_S = 100.0
"""What a client that went away has begun may still be done."""

Violate = Callable[[str], None]


@attrs.define(eq=False)
class Attempt:
    """One call of one client, when the pool of its name had changed `changes` times. `over_s`: whatever it was to do is
    done by then. `acked`: its client may count on it.
    """

    call: PoolCall
    name: str
    gateway: str
    link: KubeLink
    clock: WallClock
    spec: Mapping[str, object]
    began_s: float
    changes: int
    over_s: float = float("inf")
    acked: bool = False

    @property
    def least_s(self) -> float:
        """The earliest unix time that its gateway can have taken for now."""
        since_s = self.began_s
        return START_UNIX_S + since_s + min(self.clock.skews(since_s)) - CLOSE_S


@attrs.define(eq=False)
class PoolRules:
    server: KubeServer
    clocks: Sequence[WallClock]
    violate: Violate
    count: Callable[[str], None]
    history: PoolHistory = attrs.field(init=False)
    _attempts: dict[str, list[Attempt]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.history = PoolHistory(self.server, self.on_change)

    def begin(self, call: PoolCall, name: str, gateway: str, clock: WallClock, mark: int) -> Attempt:
        link, now_s = self.server.link(gateway), trio.current_time()
        changes = self.history.changes(call.name)
        attempt = Attempt(call, name, gateway, link, clock, spec_of(call, mark), now_s, changes)
        self._attempts.setdefault(call.name, []).append(attempt)
        return attempt

    def _under_way(self, name: str, *verbs: Verb) -> list[Attempt]:
        now_s = trio.current_time()
        return [a for a in self._attempts.get(name, ()) if a.call.verb in verbs and a.over_s >= now_s]

    # what becomes of the store

    def on_change(self, change: Change) -> None:
        if change.is_hand:
            if change.before.kept != change.after.kept:
                self._forget(change.name)
            return
        self.count("pools removed" if change.after.kept is None else "pools written")
        before, after = change.before.kept, change.after.kept
        if after is not None:
            self._check_written(before, after)
        elif change.after.is_there:
            self.violate(f"a gateway writes what is no pool under {change.name}")
        elif self._under_way(change.name, "delete"):
            self._forget(change.name)
        else:
            self._check_removed(change.name, before)

    def _forget(self, name: str) -> None:
        for attempt in self._attempts.get(name, ()):
            attempt.acked = False

    def _check_written(self, before: Kept | None, after: Kept) -> None:
        if before is not None and after.renewed_s < before.renewed_s:
            fall_s = before.renewed_s - after.renewed_s
            self.violate(f"the pool {after.name} was renewed, and its time falls by {fall_s:g} s")
        if before is not None and after.created_s != before.created_s:
            self.violate(f"the pool {after.name} is the same, and has another time of its creation")
        if before is not None and after.spec == before.spec:
            if not self._under_way(after.name, "put", "renew"):
                self.violate(f"the pool {after.name} is renewed, and nobody asks for that")
        elif not any(a.spec == after.spec for a in self._under_way(after.name, "put")):
            was = "is not there" if before is None else "is another"
            self.violate(f"the pool {after.name} {was}, and is written as nobody asks for now")

    def _check_removed(self, name: str, last: Kept | None) -> None:
        """Nobody asks for it, so its lease must be over."""
        if last is None:
            self.violate(f"a gateway removes what is no pool under {name}")
            return
        now_s = trio.current_time()
        ahead_s = max(max(clock.skews(now_s - LEFT_S)) for clock in self.clocks)
        if START_UNIX_S + now_s + ahead_s < last.expires_s - CLOSE_S:
            self.violate(f"the pool {name} is removed before its end by any clock")
        for attempt in self._attempts.get(name, ()):
            if attempt.acked and attempt.call.verb in ("put", "renew"):
                self._check_promise(attempt, last, now_s)

    def _check_promise(self, attempt: Attempt, last: Kept, now_s: float) -> None:
        """It lasts as long as its client was told, less what clocks are apart beyond the allowed."""
        skews = [skew for clock in self.clocks for skew in clock.skews(attempt.began_s)]
        excess_s = max(0.0, max(skews) - min(skews) - ALLOWED_SKEW_S)
        if (early_s := attempt.began_s + last.ttl_s - now_s - excess_s) > CLOSE_S:
            self.violate(f"the pool {last.name} is removed {early_s:.3f} s before the end that {attempt.name} was told")

    # what gateways say

    def on_end(self, attempt: Attempt, *, left: bool) -> None:
        """Without an answer: the client went away, or its gateway did."""
        attempt.over_s = trio.current_time() + (LEFT_S if left else 0.0)

    def on_answer(self, attempt: Attempt, answer: Answer) -> str:
        """How it ended, in a word."""
        attempt.over_s = trio.current_time()
        match attempt.call.verb, answer.status:
            case ("put", 400) if attempt.call.is_bad:
                return "refused"
            case (("put" | "renew" | "delete"), 503):
                self._check_away(attempt)
                return "away"
            case (_, 404):
                self._check_missing(attempt)
                return "missing"
            case ("put", 201) | (("renew" | "delete" | "get" | "list"), 200):
                self._on_done(attempt, answer)
                return "done"
            case _:
                self._tell(attempt, f"is told {answer.status} {answer.body[:200]!r}")
                return "broken"

    def _check_away(self, attempt: Attempt) -> None:
        if attempt.link.troubled_s < attempt.began_s:
            self._tell(attempt, "is told that the store is away, and it is not")

    def _check_missing(self, attempt: Attempt) -> None:
        """It must not be there, or its gateway may not know of it."""
        name, verb = attempt.call.name, attempt.call.verb
        now, states = self.history.now(name).kept, self.history.within(name, attempt.began_s - KNOWN_S)
        is_known = all(state.kept is not None for state in states) and self._is_fair(attempt)
        is_just_put = verb == "put" and now is not None and now.spec == attempt.spec
        if verb == "list" or is_just_put or is_known:
            self._tell(attempt, "is told that there is no such pool")

    def _is_fair(self, attempt: Attempt) -> bool:
        return attempt.link.is_fair(attempt.began_s - KNOWN_S)

    def _on_done(self, attempt: Attempt, answer: Answer) -> None:
        call = attempt.call
        if call.is_bad:
            self._tell(attempt, f"is told {answer.status}")
        match call.verb:
            case "put" | "renew":
                self._check_kept(attempt)
            case "delete":
                if all(state.is_there for state in self._since(attempt)):
                    self._tell(attempt, "is told that the pool is deleted, and it is there")
            case "list":
                for shown in read_pools(answer.body).values():
                    self.check_shown(attempt.gateway, shown)
            case "get":
                self._check_there(attempt)
        if call.verb in ("put", "get"):
            shown = read_pool_document(json.loads(answer.body))
            self.check_shown(attempt.gateway, shown)
            if call.verb == "put":
                self._check_told(attempt, shown)

    def _since(self, attempt: Attempt) -> tuple[State, ...]:
        return self.history.after(attempt.call.name, attempt.changes)

    def _check_kept(self, attempt: Attempt) -> None:
        """At some time since it was asked for, the store held it like this."""
        kept = [state.kept for state in self._since(attempt) if state.kept is not None]
        fresh = [one for one in kept if one.renewed_s >= attempt.least_s]
        if attempt.call.verb == "put":
            fresh = [one for one in fresh if one.spec == attempt.spec]
        if not fresh:
            self._tell(attempt, "is told that it is done, and the store never held that")
        held = self.history.now(attempt.call.name).kept
        attempt.acked = held is not None and held.renewed_s >= attempt.least_s

    def _check_told(self, attempt: Attempt, shown: ShownPool) -> None:
        """Its own change, or one after it."""
        if not any(state.kept is not None and state.kept.spec == shown.spec for state in self._since(attempt)[1:]):
            self._tell(attempt, "is told the pool as it was before")

    def _check_there(self, attempt: Attempt) -> None:
        states = self.history.within(attempt.call.name, attempt.began_s - KNOWN_S)
        if all(state.kept is None for state in states) and self._is_fair(attempt):
            self._tell(attempt, "is told of a pool that is not there any more")

    def check_shown(self, gateway: str, shown: ShownPool) -> None:
        if shown.cap is not None and len(shown.workers) > shown.cap:
            what = f"{len(shown.workers)} workers of the pool {shown.name}"
            self.violate(f"{gateway} shows {what}, which may hold {shown.cap}")

    def _tell(self, attempt: Attempt, what: str) -> None:
        self.violate(f"{attempt.name}, {attempt.call}, {what}")
