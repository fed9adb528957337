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
    """`in_flight` is the gateway's count of requests; `left` the messages of each work stream. None: nobody told.
    `dead_letters` is work that was given up.
    """

    in_flight: int | None
    left: Mapping[str, int] | None
    dead_letters: int
    after_s: float

    @property
    def holds(self) -> bool:
        return self.in_flight == 0 and self.left is not None and not any(self.left.values())

    def as_json(self) -> Mapping[str, object]:
        kept = {name: count for name, count in (self.left or {}).items() if count}
        streams = None if self.left is None else len(self.left)
        found = {"in_flight": self.in_flight, "left": kept, "work_streams": streams}
        return {**found, "dead_letters": self.dead_letters, "after_s": self.after_s}


async def come_to_rest(cluster: Cluster) -> Rest:
    """As soon as nothing is left; else what is left after REST_S."""
    began_s = trio.current_time()
    while True:
        passed_s = trio.current_time() - began_s
        view = await cluster.broker_view()
        rest = Rest(in_flight(await cluster.get("/health")), left(view), dead_letters(view), round(passed_s, 1))
        if rest.holds or passed_s > REST_S:
            return rest
        await trio.sleep(LOOK_S)


def in_flight(health: bytes | None) -> int | None:
    """From `/health`."""
    count = _read(health).get("requests_in_flight")
    return count if isinstance(count, int) else None


def left(view: bytes | None) -> Mapping[str, int] | None:
    """From the broker's `/jsz`: by work stream; None where there is no such stream."""
    return {name: count for name, count in _streams(_read(view)) if is_work_stream(name)} or None


def dead_letters(view: bytes | None) -> int:
    return sum(count for name, count in _streams(_read(view)) if name == DEAD_LETTERS)


def _streams(view: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    for account in _rows(view.get("account_details")):
        for stream in _rows(account.get("stream_detail")):
            name, state = stream.get("name"), stream.get("state")
            count = state.get("messages") if isinstance(state, Mapping) else None
            if isinstance(name, str) and isinstance(count, int):
                yield name, count


def _rows(value: object) -> Iterator[Mapping[str, object]]:
    yield from (row for row in value if isinstance(row, Mapping)) if isinstance(value, list) else ()


def _read(text: bytes | None) -> Mapping[str, object]:
    try:
        document = json.loads(text or b"{}")
    except ValueError:
        return {}
    return document if isinstance(document, Mapping) else {}
