"""What of nats-py do we use (§8)? Its client, without what stands between a connection and our synchronous handlers.

Asyncio. This file and `sie.bus.nats` alone import nats-py.
"""

import asyncio
import re
from collections.abc import Callable

from nats.aio.client import Client
from nats.errors import ConnectionClosedError
from nats.protocol.parser import AWAITING_CONTROL_LINE, CRLF_SIZE, Parser

from sie.bus.api import NO_HEADERS, Message
from sie.bus.outbox import Publish

Receivers = dict[int, Callable[[Message], None]]
"""By the number of a subscription on this connection."""
_HEAD = re.compile(rb"MSG (\S+) (\d+) (?:(\S+) )?(\d+)\r\n")
"""As the server writes it: the subject, the subscription, where an answer goes, the size."""


class LeanParser(Parser):
    """Whole messages without headers, for `receivers`, go there straight out of what was read.

    All else is nats-py's, which also holds what has begun and is not all there: it gets that thing to its end and not
    a byte more, so that it holds nothing where the next one begins.
    """

    def __init__(self, client: "LeanClient", receivers: Receivers) -> None:
        super().__init__(client)
        self.receivers = receivers

    async def parse(self, data: bytes = b"") -> None:
        at = 0
        while at < len(data):
            if not self.buf and self.state == AWAITING_CONTROL_LINE:
                at = self._deliver(data, at)
            end = self._end_of_next(data, at)
            await super().parse(data[at:end])
            at = end

    def _deliver(self, data: bytes, at: int) -> int:
        """To the first thing that is none of ours, or not all there."""
        while (head := _HEAD.match(data, at)) is not None:
            subject, number, reply, size = head.groups()
            begin, receive = head.end(), self.receivers.get(int(number))
            end = begin + int(size)
            if receive is None or end + CRLF_SIZE > len(data):
                break
            receive(Message(subject.decode(), data[begin:end], reply.decode() if reply else "", NO_HEADERS))
            at = end + CRLF_SIZE
        return at

    def _end_of_next(self, data: bytes, at: int) -> int:
        """Of the control line that begins there or has begun, or of the payload that is awaited."""
        if self.state == AWAITING_CONTROL_LINE:
            return data.find(b"\n", at) + 1 or len(data)
        return at + self.needed + CRLF_SIZE - len(self.buf)


class LeanClient(Client):
    """Without a queue and a task for each subscription, and a look at the flusher for each message that is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.receivers: Receivers = {}
        self._ps = LeanParser(self, self.receivers)

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        receive = self.receivers.get(sid)
        if receive is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        told = (await self._process_headers(headers)) or NO_HEADERS if headers else NO_HEADERS
        receive(Message(subject.decode(), data, reply.decode() if reply else "", told))

    def put_nowait(self, command: Publish) -> bool:
        """Into what the next `kick` sends. Whether it is time for one before more is put there."""
        if self.is_closed:
            raise ConnectionClosedError
        data = command.encoded()
        self._pending.append(data)
        self._pending_data_size += len(data)
        return 0 < self._max_pending_size < self._pending_data_size

    async def kick_and_wait(self) -> None:
        await self._flush_pending(force_flush=True)

    async def kick(self) -> None:
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()

    async def _process_pong(self) -> None:
        """nats-py stops reading for good at the answer to a flush whose caller has given up; here it counts as any."""
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.Future()
        await super()._process_pong()
