"""What every node of one simulated cluster shares: the broker, the ledger, the log, and the time."""

import attrs
import trio

from sie.bus.api import Message
from sie.bus.jetstream_api import Storage
from sie.testing.cluster.events import EventLog
from sie.testing.cluster.ledger import Ledger
from sie.testing.cluster.machine import WallClock
from sie.testing.cluster.network import MAX_PAYLOAD, OUTBOX_BYTES, Network
from sie.testing.cluster.payload_store import PayloadDouble
from sie.testing.cluster.process import Life, Process
from sie.testing.cluster.tapped import OnMessage
from sie.testing.cluster.weather import Weather


@attrs.frozen
class Surroundings:
    """What every node of one cluster shares."""

    seed: int
    network: Network
    ledger: Ledger
    log: EventLog
    weather: Weather
    payloads: PayloadDouble
    tasks: int
    """Of nobody's, from before the first process."""
    storage: Storage = "memory"

    def clock(self) -> WallClock:
        return WallClock(wrong=self.weather.spell("ClockJumps"))

    def machine_seed(self, process: Process, life: Life) -> str:
        return f"{self.seed}/{process.name}/{life.number}"

    def count_tasks(self, process: Process) -> None:
        """What a process started outside its own nurseries would live on after it."""
        if (more := system_tasks() - self.tasks) > 0:
            self.ledger.violate(f"{process.name} has ended in order, and {more} of its tasks live on")

    def on_sent(self, process: Process, message: Message) -> None:
        most = OUTBOX_BYTES + MAX_PAYLOAD  # one message may be on its way out of it
        if (held := self.network.backlog_bytes(process.name, message)) > most:
            self.ledger.violate(f"the outbox of {process.name} has {held} bytes, which is above {OUTBOX_BYTES}")

    def on_lost(self, message: Message) -> None:
        """By a tap: whoever lost it. No work waits for a delta."""
        if not message.subject.startswith("sie.config."):
            self.weather.note("MessagesLost")
        self.log.add("tap", "loses", message.subject)

    def late(self, process: Process) -> OnMessage:
        def on_late(message: Message) -> None:
            self.ledger.violate(f"{process.name} sends on {message.subject} after its end")

        return on_late


def system_tasks() -> int:
    """Tasks of the run that no nursery of anybody's own holds."""
    root = trio.lowlevel.current_root_task()
    return sum(len(nursery.child_tasks) for nursery in root.child_nurseries) if root else 0


def cut_off(around: Surroundings, name: str, _: Life) -> None:
    around.network.cut(name)


def nothing() -> None:
    return
