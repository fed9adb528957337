"""What does a service hold of the broker, whatever carries it (§8)? Subscriptions, inbox, present connection.

Everything of `sie.bus.api.Bus` is here; `sie.bus.nats` puts real connections under it, one after another.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Protocol

import attrs
import trio

from sie.bus.api import NO_HEADERS, Bus, Correlation, Handler, Message, NotConnected
from sie.bus.background import background
from sie.bus.inbox import Inbox
from sie.bus.limits import check_pattern, checked_size
from sie.bus.outbox import Outbox, Publish

DEFAULT_MAX_PAYLOAD = 1024 * 1024  # nats-server's own default, until a broker has said otherwise
UNSUBSCRIBE_S = 1.0  # a round trip; whoever leaves a subscription waits no longer than this
INBOX_NUMBER = 0


@attrs.define(eq=False)
class Subscription:
    """Remembered until its block is left, and made anew on every connection."""

    pattern: str
    handler: Handler
    queue: str = ""
    live: bool = True


class Connection(Protocol):
    """One unbroken connection, with every subscription made on it before it is opened to callers."""

    @property
    def number(self) -> int: ...

    @property
    def is_connected(self) -> bool: ...

    @property
    def max_payload(self) -> int: ...

    @property
    def outbox(self) -> Outbox: ...

    async def stop(self, number: int) -> None:
        """End a subscription at the broker; return when what it had sent by then has been delivered."""
        ...


class BusFront:
    """`Bus`, given connections by its owner."""

    def __init__(self, inbox: str) -> None:
        self._inbox = Inbox(inbox)
        check_pattern(self._inbox.pattern)
        self.subscriptions = {INBOX_NUMBER: Subscription(self._inbox.pattern, self._inbox.receive)}
        self._numbers = count(INBOX_NUMBER + 1)
        self._connection: Connection | None = None
        self._opened = trio.Event()
        self._max_payload = DEFAULT_MAX_PAYLOAD
        self.body = trio.CancelScope()  # the block that uses the bus; a failing handler cancels it
        self.failure: Exception | None = None

    @property
    def max_payload(self) -> int:
        return self._max_payload

    def publish_nowait(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        connection = self._connection
        if connection is None or not connection.is_connected:
            raise NotConnected(f"no connection to the broker: nothing sent on {subject}")
        size = checked_size(subject, data, reply, headers, self._max_payload)
        connection.outbox.publish(Publish(subject, data, reply, headers, size))

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncIterator[None]:
        check_pattern(subject, queue)
        number = next(self._numbers)
        subscription = self.subscriptions[number] = Subscription(subject, handler, queue)
        if self._connection is not None:
            self._connection.outbox.subscribe(number)
        try:
            yield
        finally:
            del self.subscriptions[number]  # no later connection makes it again
            if self._connection is not None:
                with trio.move_on_after(UNSUBSCRIBE_S, shield=True):
                    await self._connection.stop(number)
            subscription.live = False

    @property
    def inbox(self) -> str:
        return self._inbox.prefix

    def correlate(self, on_reply: Handler) -> Correlation:
        return self._inbox.correlate(on_reply)

    def on_inbox(self, handler: Handler) -> None:
        self._inbox.on_inbox(handler)

    @property
    def session(self) -> int:
        connection = self._connection
        return connection.number if connection is not None and connection.is_connected else 0

    async def wait_session(self, *, newer_than: int = 0) -> int:
        await trio.lowlevel.checkpoint()
        while self.session <= newer_than:
            await self._opened.wait()
        return self.session

    def open_connection(self, connection: Connection, made: frozenset[int]) -> None:
        """From here on callers use this connection. What was subscribed while the owner made `made` goes first."""
        self._connection, self._max_payload = connection, connection.max_payload
        for number in self.subscriptions.keys() - made:
            connection.outbox.subscribe(number)
        self._opened.set()
        self._opened = trio.Event()

    def close_connection(self) -> None:
        self._connection = None

    def deliver(self, subscription: Subscription, message: Message) -> None:
        """Call the handler. Whatever it raises ends the bus, and nothing is delivered after that."""
        if not subscription.live or self.failure is not None:
            return
        try:
            subscription.handler(message)
        except Exception as error:  # it belongs to whoever holds the bus, not to the library that called us
            self.fail(error)

    def fail(self, error: Exception) -> None:
        self.failure = self.failure or error
        self.body.cancel()


@asynccontextmanager
async def holding(
    front: BusFront, *tasks: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]]
) -> AsyncIterator[Bus]:
    """The block that uses a bus, beside the `tasks` of whoever puts connections under it; `close` ends them in order.

    What the block raises leaves as it was raised. When a handler raises, the block is cancelled and that error leaves
    bare, with what the block raised meanwhile as its cause. `close` shields itself, with a deadline.
    """
    raised: BaseException | None = None
    try:
        async with background(*tasks):
            try:
                with front.body:
                    yield front
            finally:
                await close()  # noqa: ASYNC102 - it shields itself, with a deadline
    except BaseException as error:  # noqa: ASYNC103 - raised below, unless a handler's failure is the reason for it
        raised = error
    if front.failure is not None:
        raise front.failure from raised
    if raised is not None:
        raise raised
