"""Handing work to the broker (§8.2): one message an item, submitted without waiting for the acks."""

from collections.abc import Mapping, Sequence

import attrs
import msgspec
import trio

from sie.bus.api import Bus, OutboxFull
from sie.bus.jetstream import StreamSpec
from sie.gateway.dispatch.acks import ACK_DEADLINE_S
from sie.gateway.dispatch.streams import Streams

AT_ONCE = 64
"""Sends between two looks at the rest of the world (§16.2)."""
ROOM_S = 0.005
"""Between two tries while the connection has more to send than it may hold."""


class Parcel(msgspec.Struct, frozen=True):
    """One work item as it goes on the bus."""

    subject: str
    data: bytes
    message_id: str


def headers_of(message_id: str) -> Mapping[str, str]:
    """A message that is sent again is stored once (§8.2)."""
    return {"Nats-Msg-Id": message_id}


@attrs.frozen
class Publisher:
    bus: Bus
    streams: Streams

    async def submit(self, stream: StreamSpec, parcels: Sequence[Parcel], replies: Sequence[str]) -> None:
        """`replies` is one subject for all of them, or one for each. Raises BusError; some may have been sent then."""
        await self.streams.ensure(stream)
        give_up_s = trio.current_time() + ACK_DEADLINE_S
        for index, parcel in enumerate(parcels):
            if index and index % AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
            reply = replies[index] if len(replies) > 1 else replies[0]
            while not self._sent(parcel, reply, give_up_s):  # noqa: ASYNC110
                await trio.sleep(ROOM_S)  # the connection tells nobody when it has room again

    def submit_nowait(self, stream: StreamSpec, parcels: Sequence[Parcel], reply: str) -> bool:
        """False where that would take a wait, or too long; what was sent by then may be sent again (§8.2)."""
        if len(parcels) > AT_ONCE or not self.streams.is_ensured(stream):
            return False
        try:
            for parcel in parcels:
                self._send(parcel, reply)
        except OutboxFull:
            return False
        return True

    def _sent(self, parcel: Parcel, reply: str, give_up_s: float) -> bool:
        try:
            self._send(parcel, reply)
        except OutboxFull:
            if trio.current_time() >= give_up_s:
                raise
            return False
        return True

    def _send(self, parcel: Parcel, reply: str) -> None:
        self.bus.publish_nowait(parcel.subject, parcel.data, reply=reply, headers=headers_of(parcel.message_id))
