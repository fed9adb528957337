"""What of nats-py do we use (§8)? Its client, without what stands between a connection and our synchronous handlers.

Asyncio. This file and `sie.bus.nats` alone import nats-py.
"""

import asyncio
from collections.abc import Callable

from nats.aio.client import Client
from nats.errors import ConnectionClosedError

from sie.bus.api import NO_HEADERS, Message
from sie.bus.outbox import Publish


class LeanClient(Client):
    """Without a queue and a task for each subscription, and a look at the flusher for each message that is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.receivers: dict[int, Callable[[Message], None]] = {}

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
