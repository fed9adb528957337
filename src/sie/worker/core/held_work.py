"""What does this worker hold of its queues? Every delivery from its pull to its ack, waiting or running. Sans-IO.

It says which go to the backend next, whose lease is to be renewed, and whether there is room for more. Work that comes
in two messages, by name and by the pool's queue (§8.2), is held once.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping

import attrs

from sie.bus.jetstream_api import Delivery
from sie.domain.subjects import is_direct
from sie.wire.work import WorkItem
from sie.worker.core.batching import Candidate
from sie.worker.core.turns import Outlook, Turns
from sie.worker.core.waiting import Pace

RENEW_AFTER_S = 10.0
"""A third of ack_wait: two renewals may be lost before another worker is given the work."""
FULL_ITEMS = 192
ROOM_ITEMS = 64
"""Pulling stops at FULL and goes on at ROOM: some batches ahead of the device, and no hoard that idle workers miss."""
FULL_BYTES = 64 * 1024 * 1024

Key = tuple[str, str]
"""One answer to one caller, in however many messages it is asked for."""


@attrs.frozen
class Terms:
    """What work was routed and admitted by: whether it may run here is the same for all that has them in common."""

    config_hash: str
    admission_pool: str


@attrs.define(eq=False)
class Held:
    """One delivery. `pulled_s` is Trio's time, `queue_ms` the wall time from the gateway to the pull.

    `is_lent` turns False when its consumer is lost: no word on it may then reach a consumer made anew under that name.
    """

    work: WorkItem
    candidate: Candidate
    delivery: Delivery
    pulled_s: float
    queue_ms: float
    payload_bytes: int = 0
    payload_fetch_ms: float | None = None
    renewed_s: float = attrs.field(init=False)
    is_lent: bool = attrs.field(default=True, init=False)
    key: Key = attrs.field(init=False)
    terms: Terms = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.renewed_s = self.pulled_s
        self.key = self.work.work_item_id, self.work.reply_subject
        self.terms = Terms(self.work.bundle_config_hash, self.work.admission_pool)

    @property
    def size_bytes(self) -> int:
        """Its message, and the input that was sent beside it."""
        return len(self.delivery.data) + self.payload_bytes

    @property
    def is_direct(self) -> bool:
        """Of what is held now: work that also came by the pool's queue counts as from there."""
        return is_direct(self.delivery.subject)

    def is_in(self, delivery: Delivery) -> bool:
        """Is it the same message, come again? A stream that was made anew counts from 1 again, too."""
        return (self.delivery.subject, self.delivery.stream_seq) == (delivery.subject, delivery.stream_seq)

    def lend(self, delivery: Delivery, *, now_s: float) -> None:
        self.delivery, self.renewed_s, self.is_lent = delivery, now_s, True


@attrs.frozen
class Totals:
    """In items, and the bytes of all of them."""

    waiting: int
    running: int
    owed: int
    bytes: int


@attrs.define
class HeldWork:
    """Waiting in order of arrival; running; and owed: done, with a result that could not be sent."""

    pace: Pace = attrs.field(factory=Pace, init=False)
    _waiting: dict[Key, Held] = attrs.field(factory=dict, init=False)
    _running: dict[Key, Held] = attrs.field(factory=dict, init=False)
    _owed: dict[Key, Held] = attrs.field(factory=dict, init=False)
    _bytes: int = attrs.field(default=0, init=False)
    _orders: Iterator[int] = attrs.field(factory=itertools.count, init=False)
    _turns: Turns = attrs.field(factory=Turns, init=False)
    _by_order: dict[int, Held] = attrs.field(factory=dict, init=False)
    """What waits, by the order of its candidate."""
    _terms: dict[Terms, int] = attrs.field(factory=dict, init=False)
    """How many that wait have these."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running) + len(self._owed)

    @property
    def is_full(self) -> bool:
        return len(self) >= FULL_ITEMS or self._bytes >= FULL_BYTES

    @property
    def has_room(self) -> bool:
        return len(self) <= ROOM_ITEMS and self._bytes < FULL_BYTES

    def next_order(self) -> int:
        return next(self._orders)

    def add(self, held: Held) -> Delivery | None:
        """Work that is held already is not held twice: its lease is the newest of its message, and the pool's rather
        than its own queue's. The delivery that is thereby not needed, and is to be acked.
        """
        self._drop_owed(held.key)
        self.pace.arrivals.add(pending=held.delivery.pending, now_s=held.pulled_s)
        same = self._waiting.get(held.key) or self._running.get(held.key)
        if same is None:
            self._wait(held)
            self._bytes += held.size_bytes
            return None
        if same.is_lent and held.is_direct and not same.is_direct:
            return held.delivery
        spare = same.delivery if same.is_lent and not same.is_in(held.delivery) else None
        self._bytes += len(held.delivery.data) - len(same.delivery.data)  # both have the same input
        same.lend(held.delivery, now_s=held.renewed_s)
        return spare

    def outlook(self, ready: Collection[str], budgets: Mapping[str, int]) -> Outlook | None:
        """Of the next batch, as it is now; None where nothing that waits is ready."""
        return self._turns.outlook(ready, budgets)

    def due_s(self, outlook: Outlook, device: int) -> float:
        """When that batch is to go, unless something changes before."""
        pulled_s = self._by_order[outlook.first.order].pulled_s
        return self.pace.go_at_s(outlook, device, pulled_s=pulled_s, is_full=self.is_full)

    def take_batch(self, ready: Collection[str], budgets: Mapping[str, int]) -> tuple[Held, ...]:
        """What goes to the backend next; it counts as running from now on."""
        batch = tuple(self._by_order[candidate.order] for candidate in self._turns.take(ready, budgets))
        for held in batch:
            self._forget_waiting(held)
            self._running[held.key] = held
        return batch

    def release(self, held: Held) -> None:
        """It is answered or given back. Releasing twice changes nothing."""
        self._drop_owed(held.key)
        if self._take_out(held.key):
            self._bytes -= held.size_bytes

    def owe(self, held: Held) -> None:
        """It ran or was refused, and its result is lost. Its lease is kept until it can be given back."""
        if self._take_out(held.key):
            self._owed[held.key] = held

    def take_owed(self) -> tuple[Held, ...]:
        taken = tuple(self._owed.values())
        for held in taken:
            self._drop_owed(held.key)
        return taken

    def orphan(self, *, is_direct: bool) -> None:
        """One of the two consumers is gone with its leases. Callers are still answered; what comes again is taken for
        the same.
        """
        for held in self.held():
            held.is_lent = held.is_lent and held.is_direct != is_direct

    def waiting(self) -> tuple[Held, ...]:
        return tuple(self._waiting.values())

    def waiting_under(self, concerns: Callable[[Terms], bool]) -> tuple[Held, ...]:
        """Asked once for all that have the same terms."""
        concerned = set(filter(concerns, self._terms))
        return tuple(held for held in self._waiting.values() if held.terms in concerned) if concerned else ()

    def models(self) -> tuple[str, ...]:
        """Those that something waits for."""
        return self._turns.serving_ids()

    def oldest(self) -> Mapping[str, int]:
        """The models that something waits for, each with the order of the oldest of it."""
        return self._turns.oldest()

    def held(self) -> tuple[Held, ...]:
        return (*self._waiting.values(), *self._running.values(), *self._owed.values())

    def totals(self) -> Totals:
        return Totals(len(self._waiting), len(self._running), len(self._owed), self._bytes)

    def renew(self, *, now_s: float) -> tuple[Delivery, ...]:
        """The deliveries whose lease is to be renewed now; they count as renewed."""
        due = [held for held in self.held() if held.is_lent and now_s - held.renewed_s >= RENEW_AFTER_S]
        for held in due:
            held.renewed_s = now_s
        return tuple(held.delivery for held in due)

    def _wait(self, held: Held) -> None:
        self._waiting[held.key] = self._by_order[held.candidate.order] = held
        self._turns.add(held.candidate)
        self._terms[held.terms] = self._terms.get(held.terms, 0) + 1

    def _take_out(self, key: Key) -> bool:
        """Of what waits or runs. False: it does neither."""
        held = self._waiting.get(key)
        if held is None:
            return self._running.pop(key, None) is not None
        self._turns.remove(held.candidate)
        self._forget_waiting(held)
        return True

    def _forget_waiting(self, held: Held) -> None:
        del self._waiting[held.key], self._by_order[held.candidate.order]
        self._terms[held.terms] -= 1
        if not self._terms[held.terms]:
            del self._terms[held.terms]

    def _drop_owed(self, key: Key) -> None:
        held = self._owed.pop(key, None)
        if held is not None:
            self._bytes -= held.size_bytes
