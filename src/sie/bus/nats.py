"""How does a Trio service hold one connection to NATS (§8)? Over nats-py, on trio-asyncio.

One asyncio loop on top of Trio, one session at a time, one pump. A session is one nats-py client from its first byte to
its last: nothing of it (unsent messages, pull requests) reaches the next one, which is dialled without end meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import NoReturn

import attrs
import trio
from nats.aio.subscription import Subscription as Made
from nats.aio.transport import TcpTransport
from nats.errors import Error as NatsError
from nats.errors import UnexpectedEOF
from trio_asyncio import TrioEventLoop, aio_as_trio, open_loop

from sie.bus.api import Bus
from sie.bus.dialling import Endpoint, Tries
from sie.bus.front import BusFront, holding
from sie.bus.nats_client import LeanClient
from sie.bus.outbox import Outbox, Subscribe

log = logging.getLogger(__name__)

# One request body of the largest size (34 MiB, §2) fanned out into items, and nearly as much again from its neighbours.
OUTBOX_MAX_BYTES = 64 * 1024 * 1024

CONNECT_S = 2
# A broker that went silent is noticed after the third ping, well within an ack_wait of 30 s.
PING_INTERVAL_S = 5
MAX_OUTSTANDING_PINGS = 2
# nats-py skips its closed_cb when its own cleaning up fails or hangs on a peer that reads no more. Two looks this far
# apart that find the same closed client give its session up.
WATCH_S = 1.0
CLOSE_S = 1.0


def open_bus(
    url: str,
    *,
    inbox: str,
    name: str,
    outbox_max_bytes: int = OUTBOX_MAX_BYTES,
    user: str | None = None,
    password: str | None = None,
) -> AbstractAsyncContextManager[Bus]:
    """Hold a connection to `url` (several servers of one cluster: comma-separated) for as long as the block.

    Entering never waits for the broker. What the block raises leaves as it was raised. When a handler raises, the block
    is cancelled and that error leaves bare, with what the block raised meanwhile as its cause. Leaving sends what the
    outbox holds if there is a connection, within `CLOSE_S`, also when cancelled.
    """
    front = BusFront(inbox)
    dialler = _Dialler(Endpoint(url, name, user, password), front, outbox_max_bytes)
    return holding(front, dialler.run, dialler.watch_forever, close=dialler.close)


@attrs.define(eq=False)
class _Session:
    """One client and what belongs to it. `number` is 0 until its subscriptions stand at the broker."""

    front: BusFront
    loop: TrioEventLoop
    outbox_max_bytes: int
    client: LeanClient = attrs.field(factory=LeanClient, init=False)
    filled: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    outbox: Outbox = attrs.field(init=False)
    number: int = attrs.field(default=0, init=False)
    began: float = attrs.field(default=0.0, init=False)
    error: Exception | None = attrs.field(default=None, init=False)
    made: dict[int, Made] = attrs.field(factory=dict, init=False)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)

    def __attrs_post_init__(self) -> None:
        self.outbox = Outbox(self.outbox_max_bytes, self.filled.set)

    @property
    def is_connected(self) -> bool:
        return self.client.is_connected

    @property
    def max_payload(self) -> int:
        return self.client.max_payload

    async def stop(self, number: int) -> None:
        await aio_as_trio(self._unmake, loop=self.loop)(number)

    @property
    def is_over(self) -> bool:
        return self.number > 0 and self.client.is_closed

    def give_up(self) -> None:
        self.abort()
        self.scope.cancel()

    def abort(self) -> None:
        """Free the socket whatever state it is in. nats-py's own close waits for a peer that may be gone."""
        transport = self.client._transport
        if isinstance(transport, TcpTransport) and transport._io_writer is not None:
            transport._io_writer.transport.abort()

    async def serve(self, endpoint: Endpoint, number: int, closing: Callable[[], bool]) -> None:
        """Asyncio, like all below. Dial, subscribe, open to callers, pump until the client breaks or the bus closes."""
        await self._connect(endpoint)
        for subscription in tuple(self.front.subscriptions):
            await self._make(subscription)
        await self.client.flush(CONNECT_S)
        if closing():
            self.outbox.close()
        self.number, self.began = number, trio.current_time()
        log.info("connected to the broker", extra={"broker": endpoint.hosts, "session": number})
        self.front.open_connection(self, frozenset(self.made))
        await self._pump()
        if not self.client.is_closed:
            await self.client.flush(CONNECT_S)
            await self.client.close()

    async def _connect(self, endpoint: Endpoint) -> None:
        """Every server once or twice, then the error: waiting between tries is the dialler's."""
        user, password = endpoint.login
        await self.client.connect(
            servers=endpoint.servers,
            name=endpoint.name,
            user=user,
            password=password,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=CONNECT_S,
            ping_interval=PING_INTERVAL_S,
            max_outstanding_pings=MAX_OUTSTANDING_PINGS,
            error_cb=self._on_error,
            closed_cb=self._on_closed,
            skip_subject_validation=True,  # sie.bus.limits did it, where the caller hears of it
        )

    async def _pump(self) -> None:
        while not self.client.is_closed and not (self.outbox.closed and not len(self.outbox)):
            await self.filled.wait()
            self.filled.clear()
            while (command := self.outbox.take()) is not None:
                if isinstance(command, Subscribe):
                    await self._make(command.number)
                elif self.client.put_nowait(command):
                    await self.client.kick_and_wait()
                    _stop_if_cancelled()
            await self.client.kick()

    async def _make(self, number: int) -> None:
        subscription = self.front.subscriptions.get(number)
        if subscription is None:  # left again before its turn came
            return
        # The command leaves when another task runs, so that no message comes before its receiver.
        self.made[number] = await self.client.subscribe(
            subscription.pattern,
            queue=subscription.queue,
        )
        self.client.receivers[self.made[number]._id] = partial(self.front.deliver, subscription)
        if number not in self.front.subscriptions:
            await self._unmake(number)

    async def _unmake(self, number: int) -> None:
        """Stop the broker's deliveries, then let those under way reach the handler."""
        made = self.made.pop(number, None)
        if made is not None:
            with suppress(NatsError, OSError):  # the connection broke: the broker forgets the subscription with it
                await made.drain()  # type: ignore[no-untyped-call]  # one of nats-py's few without annotations
            self.client.receivers.pop(made._id, None)

    async def _on_closed(self) -> None:
        self.outbox.close()

    async def _on_error(self, error: Exception) -> None:
        self.error = error
        if self.number and not isinstance(error, UnexpectedEOF):  # that one is told as the end of the session
            log.warning("broker connection reported an error", extra={"broker_error": repr(error)})


class _Dialler:
    """Keeps sessions under a bus, one after another."""

    def __init__(self, endpoint: Endpoint, front: BusFront, outbox_max_bytes: int) -> None:
        self._endpoint = endpoint
        self._front = front
        self._outbox_max_bytes = outbox_max_bytes
        self._session: _Session | None = None
        self._sessions = 0
        self._closing = trio.Event()
        self._closed = trio.Event()
        # Shielded, so that a cancelled service still says goodbye; `close` gives it its deadline.
        self._life = trio.CancelScope(shield=True)

    async def run(self) -> None:
        """Returns after `close`."""
        try:
            with self._life:
                async with open_loop() as loop:
                    loop.set_exception_handler(_log_loop_error)
                    await self._keep_sessions(loop)
        finally:
            self._closed.set()

    async def watch_forever(self) -> NoReturn:
        before: _Session | None = None
        while True:
            await trio.sleep(WATCH_S)
            over = self._session if self._session is not None and self._session.is_over else None
            if over is not None and over is before:
                over.give_up()
            before = over

    async def close(self) -> None:
        self._closing.set()
        self._life.deadline = trio.current_time() + CLOSE_S
        if self._session is not None and self._session.number:
            self._session.outbox.close()
        with trio.CancelScope(shield=True, deadline=self._life.deadline + CLOSE_S):
            await self._closed.wait()

    async def _keep_sessions(self, loop: TrioEventLoop) -> None:
        tries = Tries()
        while not self._closing.is_set() and self._front.failure is None:
            tries.next()
            session = self._session = _Session(self._front, loop, self._outbox_max_bytes)
            await self._run_session(session)
            if not self._closing.is_set():
                self._report_end(session, tries)
            if session.number:
                tries.lasted(trio.current_time() - session.began)
            with trio.move_on_after(tries.wait_s):
                await self._closing.wait()

    async def _run_session(self, session: _Session) -> None:
        try:
            with session.scope:
                await aio_as_trio(session.serve)(self._endpoint, self._sessions + 1, self._closing.is_set)
        except (NatsError, OSError) as error:
            session.error = session.error or error
        except Exception as error:  # a defect, ours or nats-py's: it leaves `open_bus` as a handler's error does
            self._front.fail(error)
        finally:
            self._sessions = max(self._sessions, session.number)
            self._front.close_connection()
            session.abort()

    def _report_end(self, session: _Session, tries: Tries) -> None:
        fields: dict[str, object] = {
            "broker": self._endpoint.hosts,
            "broker_error": repr(session.error or session.client.last_error),
        }
        if session.number:
            log.warning("connection to the broker lost", extra={**fields, "unsent": len(session.outbox)})
        elif tries.worth_a_line:
            log.warning("no connection to the broker yet", extra={**fields, "tries": tries.count})


def _stop_if_cancelled() -> None:
    """nats-py swallows a cancel that meets it while it flushes, and we would pump on to a peer that reads no more."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _log_loop_error(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """A task of nats-py ended badly: the session notices a closed client, and the loop lives on."""
    error = context.get("exception")
    log.error(
        "error in the asyncio loop of the bus",
        extra={"loop_message": str(context.get("message"))},
        exc_info=error if isinstance(error, BaseException) else None,
    )
