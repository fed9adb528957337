"""What does `sie dlq` ask of the broker (§8)? Letters are read one by one, newest first; a replay waits for its result.

Raises DlqError in words for a person, and BusError.
"""

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import trio

from sie.bus.api import Bus, Message
from sie.bus.dialling import Endpoint
from sie.bus.jetstream import API_TIMEOUT_S, PubRefused, decode_pub_ack
from sie.bus.nats import open_bus
from sie.bus.request import request
from sie.bus.stored import delete_stored, read_span, read_stored
from sie.bus.stored_api import Stored
from sie.cli.dlq_replay import Replay, plan_replay
from sie.cli.dlq_settings import DlqSettings
from sie.cli.dlq_words import Kept
from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import DEAD_LETTERS, inbox_prefix
from sie.wire.converters import WireError
from sie.wire.dead_letter import decode_dead_letter
from sie.wire.result import WorkResult, decode_result

CONNECT_S = 3.0


class DlqError(Exception):
    """What could not be done, and why, for a person."""


@attrs.frozen
class Desk:
    """A connection with an inbox of its own."""

    bus: Bus
    router: RouterId


@asynccontextmanager
async def open_desk(settings: DlqSettings) -> AsyncIterator[Desk]:
    router = RouterId(f"dlq-{secrets.token_hex(8)}")
    url, user, password = settings.nats_url, settings.nats_user, settings.nats_password
    async with open_bus(url, inbox=inbox_prefix(router), name="sie dlq", user=user, password=password) as bus:
        session = 0
        with trio.move_on_after(CONNECT_S):
            session = await bus.wait_session()
        if not session:
            hosts = Endpoint(url, "", None, None).hosts
            raise DlqError(f"no connection to the broker at {hosts} within {CONNECT_S:g} s (SIE_NATS_URL, --nats-url)")
        yield Desk(bus, router)


async def read_newest(bus: Bus, *, limit: int, token: str | None) -> list[Kept]:
    """Newest first; with `token` of one model alone. An empty list where there is no stream, too."""
    span = await read_span(bus, DEAD_LETTERS)
    found: list[Kept] = []
    for seq in range(span.last, span.first - 1, -1) if span else ():
        stored = await read_stored(bus, DEAD_LETTERS, seq)
        kept = None if stored is None else kept_of(stored)
        if kept is not None and token in (None, kept.token):
            found.append(kept)
        if len(found) == limit:
            break
    return found


async def read_one(bus: Bus, seq: int) -> Kept:
    stored = await read_stored(bus, DEAD_LETTERS, seq)
    if stored is None:
        raise DlqError(f"there is no dead letter {seq}; `sie dlq list` shows those there are")
    return kept_of(stored)


def kept_of(stored: Stored) -> Kept:
    make = partial(Kept, seq=stored.seq, at=stored.at, subject=stored.subject)
    try:
        return make(letter=decode_dead_letter(stored.data))
    except WireError as error:
        return make(letter=None, problem=str(error))


async def find_work(bus: Bus, kept: Kept) -> bytes | None:
    """What was too large for its letter is still in its stream, until that forgets it."""
    letter = kept.letter
    if letter is None or letter.work is not None:
        return None if letter is None else letter.work
    stored = await read_stored(bus, letter.advisory.stream, letter.advisory.stream_seq)
    if stored is None or stored.at > letter.advisory.at or stored.subject != letter.subject:
        return None
    return stored.data


async def replay(desk: Desk, seq: int, *, timeout_s: float) -> WorkResult:
    """The result, good or bad, of the work of letter `seq`, done again."""
    kept = await read_one(desk.bus, seq)
    if kept.letter is None:
        raise DlqError(f"dead letter {seq} cannot be read: {kept.problem}")
    work = await find_work(desk.bus, kept)
    if work is None:
        raise DlqError(f"the work of dead letter {seq} is not there any more ({kept.letter.work_bytes} bytes)")
    request_id = RequestId(f"replay-{secrets.token_hex(8)}")
    try:
        planned = plan_replay(
            kept.letter.subject,
            work,
            router=desk.router,
            request=request_id,
            now_s=time.time(),
            timeout_s=timeout_s,
        )
    except WireError as error:
        raise DlqError(f"the work of dead letter {seq} cannot be sent again: {error}") from error
    return await _ask(desk.bus, planned, timeout_s=timeout_s)


async def remove(bus: Bus, seq: int) -> bool:
    """False: it was gone already."""
    return await delete_stored(bus, DEAD_LETTERS, seq)


async def _ask(bus: Bus, planned: Replay, *, timeout_s: float) -> WorkResult:
    answers: list[bytes] = []
    answered = trio.Event()

    def on_result(message: Message) -> None:
        if message.subject == planned.reply:
            answers.append(message.data)
            answered.set()

    bus.on_inbox(on_result)
    headers = {"Nats-Msg-Id": planned.work_item_id}
    ack = decode_pub_ack(await request(bus, planned.subject, planned.data, timeout_s=API_TIMEOUT_S, headers=headers))
    if isinstance(ack, PubRefused):
        raise DlqError(f"the work queue did not take it on {planned.subject}: {ack.description or ack.reason}")
    with trio.move_on_after(timeout_s):
        await answered.wait()
    if not answers:
        raise DlqError(f"no result came within {timeout_s:g} s; nobody works on it after that")
    try:
        return decode_result(answers[0])
    except WireError as error:
        raise DlqError(f"the result cannot be read: {error}") from error
