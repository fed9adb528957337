"""Is anything left of the work when all requests have ended? Looked for in the gateway and in the broker's streams."""

import json
from collections.abc import Iterator, Mapping

import attrs
import trio

from ci.lib.processes_cluster import Cluster
from sie.bus.work_streams import ACK_WAIT_S
from sie.domain.subjects import DEAD_LETTERS, is_work_stream

REST_S = 3 * ACK_WAIT_S
"""What a dead worker held comes back after one ack wait, and may then meet another death."""
LOOK_S = 0.5


@attrs.frozen
class Rest:
    """`in_flight` is the gateway's count of requests; `left` what each work stream still owes. None: nobody told.
    `dead_letters` is work that was given up. `done_but_kept` are messages that came back with a broker that was killed:
    their consumer has their acks, so nobody gets them again, and the stream drops them by their age.
    """

    in_flight: int | None
    left: Mapping[str, int] | None
    dead_letters: int
    done_but_kept: int
    after_s: float

    @property
    def holds(self) -> bool:
        return self.in_flight == 0 and self.left is not None and not any(self.left.values())

    def as_json(self) -> Mapping[str, object]:
        kept = {name: count for name, count in (self.left or {}).items() if count}
        streams = None if self.left is None else len(self.left)
        found = {"in_flight": self.in_flight, "left": kept, "work_streams": streams}
        given_up = {"dead_letters": self.dead_letters, "done_but_kept": self.done_but_kept}
        return {**found, **given_up, "after_s": self.after_s}


@attrs.frozen
class _Stream:
    """`owed` is what its consumers have not seen or not acked: all, where there is none."""

    name: str
    messages: int
    owed: int


async def come_to_rest(cluster: Cluster) -> Rest:
    """As soon as nothing is left; else what is left after REST_S."""
    began_s = trio.current_time()
    while True:
        passed_s = trio.current_time() - began_s
        rest = read_rest(await cluster.get("/health"), await cluster.broker_view(), passed_s)
        if rest.holds or passed_s > REST_S:
            return rest
        await trio.sleep(LOOK_S)


def read_rest(health: bytes | None, view: bytes | None, after_s: float) -> Rest:
    """`health` is the gateway's `/health`, `view` the broker's `/jsz`."""
    streams = tuple(_streams(_read(view)))
    work = [stream for stream in streams if is_work_stream(stream.name)]
    return Rest(
        in_flight=in_flight(health),
        left={stream.name: stream.owed for stream in work} or None,
        dead_letters=sum(stream.messages for stream in streams if stream.name == DEAD_LETTERS),
        done_but_kept=sum(max(0, stream.messages - stream.owed) for stream in work),
        after_s=round(after_s, 1),
    )


def in_flight(health: bytes | None) -> int | None:
    """From `/health`."""
    count = _read(health).get("requests_in_flight")
    return count if isinstance(count, int) else None


def _streams(view: Mapping[str, object]) -> Iterator[_Stream]:
    for account in _rows(view.get("account_details")):
        for stream in _rows(account.get("stream_detail")):
            messages, consumers = _count(stream.get("state"), "messages"), list(_rows(stream.get("consumer_detail")))
            owed = sum(_count(consumer, "num_pending") + _count(consumer, "num_ack_pending") for consumer in consumers)
            yield _Stream(str(stream.get("name")), messages, owed if consumers else messages)


def _count(row: object, key: str) -> int:
    count = row.get(key) if isinstance(row, Mapping) else None
    return count if isinstance(count, int) else 0


def _rows(value: object) -> Iterator[Mapping[str, object]]:
    yield from (row for row in value if isinstance(row, Mapping)) if isinstance(value, list) else ()


def _read(text: bytes | None) -> Mapping[str, object]:
    try:
        document = json.loads(text or b"{}")
    except ValueError:
        return {}
    return document if isinstance(document, Mapping) else {}
