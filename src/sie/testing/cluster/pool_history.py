"""Which pools has a simulated API server held, and since when? Read from its own changes, with no word of the services.

What a hand wrote there that is no pool counts as none.
"""

import json
from collections.abc import Callable, Iterator, Mapping

import attrs
import trio

from sie.kube.core.names import MANAGED_BY, MANAGER, POOL_KEY, pool_of_config_map
from sie.testing.cluster.kube_server import NAMESPACE, KubeServer
from sie.testing.kube.model import Scope
from sie.testing.kube.resources import CONFIG_MAPS, LEASES, Document
from sie.testing.kube.shaping import metadata_of, text_of

_POOLS = Scope(CONFIG_MAPS, NAMESPACE)
_LEASES = Scope(LEASES, NAMESPACE)


@attrs.frozen
class Kept:
    """A pool as it is stored; times are unix seconds."""

    name: str
    spec: Mapping[str, object]
    created_s: float
    renewed_s: float

    @property
    def ttl_s(self) -> float:
        found = self.spec["ttl_seconds"]
        assert isinstance(found, int)
        return float(found)

    @property
    def expires_s(self) -> float:
        return self.renewed_s + self.ttl_s


@attrs.frozen
class State:
    """From `at_s` on, which is trio's time. `is_there`: some object is, a pool or not."""

    at_s: float
    kept: Kept | None
    is_there: bool


@attrs.frozen
class Change:
    name: str
    before: State
    after: State
    is_hand: bool


NEVER = State(float("-inf"), None, is_there=False)


@attrs.define(eq=False)
class PoolHistory:
    """`on_change` is told of each change as it is made. `uids` are of all objects that ever were."""

    server: KubeServer
    on_change: Callable[[Change], None]
    uids: set[str] = attrs.field(factory=set, init=False)
    _states: dict[str, list[State]] = attrs.field(factory=dict, init=False)
    _seen: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._seen = self.server.model.revision
        self.server.model.woken.append(self.look)

    def look(self) -> None:
        model, since = self.server.model, self._seen
        self._seen = model.revision
        for event in model.since(_POOLS, since):
            document = event["object"]
            assert isinstance(document, dict)
            self._take(document, is_there=event["type"] != "DELETED")

    def _take(self, document: Document, *, is_there: bool) -> None:
        name = pool_of_config_map(text_of(document, "name"))
        if name is None:
            return
        self.uids.add(text_of(document, "uid"))
        before = self.now(name)
        after = State(trio.current_time(), kept_in(document) if is_there else None, is_there)
        self._states.setdefault(name, [NEVER]).append(after)
        self.on_change(Change(name, before, after, self.server.is_hand))

    def now(self, name: str) -> State:
        return self._states.get(name, [NEVER])[-1]

    def within(self, name: str, since_s: float) -> tuple[State, ...]:
        """What it was just before then, and all that it has been since."""
        states = self._states.get(name, [NEVER])
        later = [state for state in states if state.at_s >= since_s]
        return (states[len(states) - len(later) - 1], *later)

    def changes(self, name: str) -> int:
        """How many there have been."""
        return len(self._states.get(name, [NEVER])) - 1

    def after(self, name: str, changes: int) -> tuple[State, ...]:
        """What it was after so many of them, and all that it has been since."""
        return tuple(self._states.get(name, [NEVER])[changes:])

    def present(self) -> dict[str, Kept]:
        """By name."""
        found = {name: states[-1].kept for name, states in sorted(self._states.items())}
        return {name: kept for name, kept in found.items() if kept is not None}

    def leases(self) -> Iterator[tuple[str, str]]:
        """The name and the owner's uid of each Lease that is there."""
        for lease in self.server.model.listed(_LEASES):
            owners = metadata_of(lease).get("ownerReferences")
            owner = owners[0] if isinstance(owners, list) and owners else {}
            yield text_of(lease, "name"), str(owner.get("uid"))


def kept_in(document: Document) -> Kept | None:
    """None for what is no pool."""
    name, labels, data = text_of(document, "name"), metadata_of(document).get("labels"), document.get("data")
    if not (isinstance(labels, dict) and labels.get(MANAGED_BY) == MANAGER and isinstance(data, dict)):
        return None
    try:
        stored = json.loads(data[POOL_KEY])
        spec, status = stored["spec"], stored["status"]
        kept = Kept(spec["name"], spec, status["created_at"], status["last_renewed"])
        is_own = pool_of_config_map(name) == kept.name and kept.ttl_s > 0
    except (ValueError, KeyError, TypeError, AssertionError):
        return None
    return kept if is_own else None
