"""What does a stream keep, and for how long? Messages by sequence, limits, and the memory of message ids. Sans-IO."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import attrs

from sie.bus.jetstream_api import MAXIMUM_MESSAGES_EXCEEDED, NS_PER_S
from sie.bus.limits import header_bytes
from sie.testing.broker.agenda import Agenda, Timer
from sie.testing.broker.configs import Refused, StreamConfig

MESSAGE_ID = "Nats-Msg-Id"
MEMORY_OVERHEAD_BYTES = 16
FILE_OVERHEAD_BYTES = 30
FILE_HEADER_OVERHEAD_BYTES = 4
AGE_CHECK_S = 0.25  # the server looks for what is too old no more often than this
FILE_CLOCK_S = 0.1  # and for what is on disk by a clock that is set only so often


@attrs.frozen
class Stored:
    """One message as it lies in its stream."""

    seq: int
    subject: str
    data: bytes
    headers: Mapping[str, str]
    stored_s: float
    size_bytes: int


@attrs.frozen
class Kept:
    """The stream holds the message under `seq`. `duplicate`: it held one of this id before, and kept nothing now."""

    seq: int
    duplicate: bool


@attrs.define(eq=False)
class Stream:
    """`on_removed` hears of every message that leaves, `on_purged` of all that leave at once."""

    config: StreamConfig
    created_s: float
    agenda: Agenda
    on_removed: Callable[[Stored], None]
    on_purged: Callable[[], None]
    first_seq: int = attrs.field(default=0, init=False)
    last_seq: int = attrs.field(default=0, init=False)
    last_s: float | None = attrs.field(default=None, init=False)
    size_bytes: int = attrs.field(default=0, init=False)
    _messages: dict[int, Stored] = attrs.field(factory=dict, init=False)
    _ids: dict[str, tuple[int, float]] = attrs.field(factory=dict, init=False)
    _age: Timer = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._age = Timer(self._expire)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Stored]:
        """In the order of their sequences."""
        return iter(self._messages.values())

    def get(self, seq: int) -> Stored | None:
        return self._messages.get(seq)

    def keep(self, subject: str, data: bytes, headers: Mapping[str, str]) -> Kept:
        """Raises Refused when the stream is full and discards what is new. `drop_exceeding` has to follow."""
        message_id = headers.get(MESSAGE_ID, "")
        if message_id and (before := self._seq_of(message_id)):
            return Kept(before, duplicate=True)
        if self.config.discard == "new" and 0 < self.config.max_msgs <= len(self):
            raise Refused(503, MAXIMUM_MESSAGES_EXCEEDED, "maximum messages exceeded")
        self._store(subject, data, headers)
        if message_id:
            self._ids[message_id] = (self.last_seq, self.agenda.now_s)
        return Kept(self.last_seq, duplicate=False)

    def remove(self, seq: int) -> bool:
        """False: it was gone already."""
        stored = self._messages.pop(seq, None)
        if stored is None:
            return False
        self.size_bytes -= stored.size_bytes
        while self.first_seq <= self.last_seq and self.first_seq not in self._messages:
            self.first_seq += 1
        self.on_removed(stored)
        return True

    def purge(self) -> int:
        """How many there were. An empty stream begins with the next sequence, too."""
        purged = len(self)
        self._messages.clear()
        self.size_bytes = 0
        self.first_seq = self.last_seq + 1
        self.on_purged()
        return purged

    def reconfigure(self, config: StreamConfig) -> None:
        """What exceeds a new limit leaves at once where the old is discarded, and stays where the new is refused."""
        self._forget_ids()  # a longer window does not bring them back
        self.config = config
        self.drop_exceeding()
        self.agenda.cancel(self._age)
        self._expire()

    def close(self) -> None:
        self.agenda.cancel(self._age)

    def recover(self) -> None:
        """After a restart only ids of messages that are still here are known."""
        self._ids = {
            stored.headers[MESSAGE_ID]: (stored.seq, stored.stored_s) for stored in self if MESSAGE_ID in stored.headers
        }

    def _store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> None:
        self.last_seq += 1
        self.last_s = self.agenda.now_s
        size_bytes = self._size_bytes(subject, data, headers)
        self._messages[self.last_seq] = Stored(self.last_seq, subject, data, headers, self.last_s, size_bytes)
        self.size_bytes += size_bytes
        if len(self) == 1:
            self.first_seq = self.last_seq
        self._arm_age()

    def drop_exceeding(self) -> None:
        """What is oldest goes, where the newest is never refused."""
        limit = self.config.max_msgs
        if limit > 0 and self.config.discard == "old":
            for seq in tuple(islice(self._messages, max(len(self) - limit, 0))):
                self.remove(seq)

    def _expire(self) -> None:
        looked_at_s = self.agenda.now_s - (FILE_CLOCK_S / 2 if self.config.storage == "file" else 0)
        while len(self) and (due_s := self._oldest_due_s()) is not None and due_s <= looked_at_s:
            self.remove(self.first_seq)
        self._arm_age(self.agenda.now_s + AGE_CHECK_S)

    def _arm_age(self, not_before_s: float = 0.0) -> None:
        if self._age.due_s is None and len(self) and (due_s := self._oldest_due_s()) is not None:
            self.agenda.arm(self._age, max(due_s, not_before_s))

    def _oldest_due_s(self) -> float | None:
        age_ns = self.config.max_age_ns
        return self._messages[self.first_seq].stored_s + age_ns / NS_PER_S if age_ns else None

    def _seq_of(self, message_id: str) -> int:
        """0: no message of this id within the window."""
        self._forget_ids()
        return self._ids.get(message_id, (0, 0.0))[0]

    def _forget_ids(self) -> None:
        since_s = self.agenda.now_s - self.config.duplicate_window_ns / NS_PER_S
        while self._ids and (oldest := next(iter(self._ids))) and self._ids[oldest][1] <= since_s:
            del self._ids[oldest]

    def _size_bytes(self, subject: str, data: bytes, headers: Mapping[str, str]) -> int:
        size = len(subject.encode()) + header_bytes(headers) + len(data)
        if self.config.storage == "memory":
            return size + MEMORY_OVERHEAD_BYTES
        return size + FILE_OVERHEAD_BYTES + (FILE_HEADER_OVERHEAD_BYTES if headers else 0)
