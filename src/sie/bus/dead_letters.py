"""Where do dead letters go (§8, §8.2)? One stream for a day, ensured like the work streams; gateways and workers write.

Settings and storage follow those of the work streams: a broker that loses the work loses its letters, too.
"""

import logging
from typing import Protocol

import attrs

from sie.bus.api import NoResponders, Sessions
from sie.bus.jetstream import API_TIMEOUT_S, ApiError, Ensured, PubAck, StreamSpec, decode_pub_ack, ensure_stream
from sie.bus.jetstream_api import Storage
from sie.bus.limits import header_bytes
from sie.bus.request import Requester, request
from sie.domain.subjects import DEAD_LETTERS, DEAD_LETTERS_ALL, dead_letter_subject
from sie.wire.dead_letter import DeadLetter, encode_dead_letter, fitted

log = logging.getLogger(__name__)

MAX_AGE_S = 24 * 3600
MAX_LETTERS = 10_000
"""Each is as large as a message may be, so a storm of them must have an end: the oldest go."""


class LetterBus(Requester, Sessions, Protocol):
    """What writing letters needs of the bus."""


@attrs.frozen
class Filed:
    """`is_new` False: somebody had filed it before. `is_whole` False: the work was too large to go with it."""

    is_new: bool
    is_whole: bool


def dead_letters_spec(*, storage: Storage, replicas: int) -> StreamSpec:
    return StreamSpec(
        name=DEAD_LETTERS,
        subjects=(DEAD_LETTERS_ALL,),
        retention="limits",
        storage=storage,
        replicas=replicas,
        max_age_s=MAX_AGE_S,
        max_msgs=MAX_LETTERS,
        discard="old",
    )


@attrs.define
class DeadLetterBox:
    """The stream is ensured once a session: a broker that restarted may have lost it."""

    bus: LetterBus
    spec: StreamSpec
    _ensured_in: int = attrs.field(default=0, init=False)

    async def file(self, letter: DeadLetter) -> Filed:
        """Returns when the broker holds it. Raises BusError."""
        await self._ensure()
        headers = {"Nats-Msg-Id": letter.message_id}
        sent = fitted(letter, self.bus.max_payload - header_bytes(headers))
        subject, data = dead_letter_subject(letter.subject), encode_dead_letter(sent)
        try:
            answer = await request(self.bus, subject, data, timeout_s=API_TIMEOUT_S, headers=headers)
        except NoResponders:
            self._ensured_in = 0
            raise
        ack = decode_pub_ack(answer)
        if not isinstance(ack, PubAck):
            raise ApiError(500, ack.err_code, f"the dead letter was not taken: {ack.description or ack.reason}")
        return Filed(is_new=not ack.duplicate, is_whole=sent.work is not None)

    async def _ensure(self) -> None:
        session = self.bus.session
        if session and self._ensured_in == session:
            return
        _log(await ensure_stream(self.bus, self.spec))
        self._ensured_in = session


def _log(ensured: Ensured) -> None:
    if ensured.action != "unchanged":
        log.info("the stream of dead letters is ensured", extra={"action": ensured.action, "changed": ensured.changed})
    for mismatch in ensured.mismatches:
        log.warning("the stream of dead letters differs and is left alone", extra=attrs.asdict(mismatch))
