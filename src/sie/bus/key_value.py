"""How does one keep a bucket of NATS's key-value store? Reads, writes by compare-and-swap, and a watch.

Reads are asked of the stream's leader: a direct get may be answered by a copy that does not have the last write yet.
All but the watch's words raise BusError: what `request` raises, ApiError, and WrongRevision.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import attrs
import trio

from sie.bus.api import Bus, BusError, Message
from sie.bus.jetstream import API_TIMEOUT_S, call_api, decode_delivery, decode_pub_ack, ensure_stream
from sie.bus.jetstream_api import STREAM_NOT_FOUND, ApiError, Ensured, Json, PubRefused
from sie.bus.key_value_api import (
    NO_MESSAGE_FOUND,
    WRONG_REVISION,
    BucketState,
    Entry,
    bucket_spec,
    bucket_stream,
    decode_entry,
    decode_state,
    delete_headers,
    encode_read,
    encode_watch,
    entry_of,
    key_subject,
    write_headers,
)
from sie.bus.request import request

ASK_S = 2.0
"""For what may be asked again at once: a broker that elects a leader lets a question lie."""


class WrongRevision(BusError):
    """The key's last revision is not the one that the write would replace; nothing was written."""


@attrs.define(eq=False)
class Watch:
    """`listed` is set when all that was there is heard. A broker that loses a watch says nothing: one that is silent
    for a few heartbeats is over.
    """

    listed: trio.Event = attrs.field(factory=trio.Event, init=False)
    heard_at: float = attrs.field(factory=trio.current_time, init=False)


@attrs.frozen
class KeyValue:
    """`replicas` are for the bucket that `ensure` makes, or finds."""

    bus: Bus
    bucket: str
    replicas: int = 1

    async def ensure(self) -> Ensured:
        return await ensure_stream(self.bus, bucket_spec(self.bucket, replicas=self.replicas))

    async def look(self) -> BucketState | None:
        """None where there is no such bucket."""
        try:
            return decode_state(await self._ask(f"STREAM.INFO.{bucket_stream(self.bucket)}"))
        except ApiError as error:
            if error.err_code != STREAM_NOT_FOUND:
                raise
            return None

    async def get(self, key: str) -> Entry | None:
        """None for a key that never was, or of which not even a marker is left."""
        call = f"STREAM.MSG.GET.{bucket_stream(self.bucket)}"
        try:
            return decode_entry(key, await self._ask(call, encode_read(self.bucket, key)))
        except ApiError as error:
            if error.err_code != NO_MESSAGE_FOUND:
                raise
            return None

    async def put(self, key: str, value: bytes, *, over: int) -> int:
        """The revision that it has now. `over` is the one it replaces, 0 for none."""
        return await self._write(key, value, write_headers(over), API_TIMEOUT_S)

    async def delete(self, key: str, *, over: int, fades_s: int | None = None, timeout_s: float = API_TIMEOUT_S) -> int:
        """The marker's revision. `fades_s` is after how long the marker may go, where the bucket allows that."""
        return await self._write(key, b"", delete_headers(over, fades_s=fades_s), timeout_s)

    async def _ask(self, call: str, body: Json | None = None) -> Json:
        return await call_api(self.bus, call, body, timeout_s=ASK_S)

    async def _write(self, key: str, value: bytes, headers: Mapping[str, str], timeout_s: float) -> int:
        subject = key_subject(self.bucket, key)
        ack = decode_pub_ack(await request(self.bus, subject, value, timeout_s=timeout_s, headers=headers))
        match ack:
            case PubRefused(err_code=code, description=why) if code in WRONG_REVISION:
                raise WrongRevision(f"{subject}: {why}")
            case PubRefused(err_code=code, description=why):
                raise ApiError(500, code, f"{subject}: {why}")
            case _:
                return ack.seq

    @asynccontextmanager
    async def watching(self, hear: Callable[[Entry], None]) -> AsyncIterator[Watch]:
        """`hear` is called with the last entry of each key, then with each change in the order of revisions."""
        watch = Watch()

        def on_message(message: Message) -> None:
            watch.heard_at = trio.current_time()
            delivery = decode_delivery(message)
            if delivery is not None:
                hear(entry_of(self.bucket, delivery))
                if not delivery.pending:
                    watch.listed.set()

        owner = self.bus.correlate(_ignore)  # its number on this bus sets our subject apart from other watches'
        subject = f"{self.bus.inbox}-kv.{owner.subject.rpartition('.')[2]}"
        try:
            async with self.bus.subscribe(subject, on_message):
                call = f"CONSUMER.CREATE.{bucket_stream(self.bucket)}"
                answer = await self._ask(call, encode_watch(self.bucket, subject))
                if answer.get("num_pending") == 0:
                    watch.listed.set()
                yield watch
        finally:
            owner.forget()


def _ignore(_: Message) -> None:
    return
