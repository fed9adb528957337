"""What becomes of a worker's own queue when the worker leaves (§8.2)? Nobody else pulls from it: what lies there, or is
given back there, goes to the queue of its lane, and its stream goes too once it is empty.

What cannot be handed over is left where it is, until somebody of this name comes back or it is too old.
"""

import logging
from collections.abc import Mapping
from typing import NoReturn

import attrs
import trio

from sie.bus.api import BusError
from sie.bus.jetstream import API_TIMEOUT_S, Delivery, PubAck, decode_pub_ack
from sie.bus.request import Requester, request
from sie.domain.subjects import lane_subject
from sie.worker.consume.answers import Answers
from sie.worker.consume.source import WorkSource

log = logging.getLogger(__name__)

LEAVE_S = 1.0
"""For what was given back last of all, and for the stream's own end."""
LOOK_S = 0.05
RETRY_S = 1.0
MESSAGE_ID = "Nats-Msg-Id"


@attrs.frozen
class Leaving:
    """`source` is the worker's own queue."""

    bus: Requester
    source: WorkSource
    answers: Answers

    async def hand_over_forever(self) -> NoReturn:
        try:
            async with self.source.open() as puller:
                while True:
                    await self._pass_on(await puller.receive())
        except BusError as error:
            log.warning("work sent by name cannot be handed over", extra={"error": str(error)})
        await trio.sleep_forever()

    async def until_empty(self) -> bool:
        """False: something is left, or the broker cannot be asked. For a bounded time."""
        with trio.move_on_after(LEAVE_S):
            try:
                while not await self.source.is_empty():  # noqa: ASYNC110 - the broker is asked
                    await trio.sleep(LOOK_S)
            except BusError as error:
                log.info("whether the worker's own queue is empty is not known", extra={"error": str(error)})
                return False
            return True
        log.warning("work is left in the worker's own queue")
        return False

    async def delete(self) -> None:
        """The queue itself, when nobody pulls from it any more."""
        try:
            with trio.move_on_after(LEAVE_S):
                await self.source.delete()
        except BusError as error:
            log.info("the worker's own queue stays", extra={"error": str(error)})

    async def _pass_on(self, delivery: Delivery) -> None:
        """It leaves here when the lane's stream has it for certain. Giving it back to try again would use it up."""
        try:
            while not await self._is_stored(delivery):
                await trio.sleep(RETRY_S)
                self.answers.renew(delivery)
        except BaseException:  # mostly cancelled, at the end of it all: its lease would keep it from everyone
            self.answers.give_back(delivery)
            raise
        self.answers.done(delivery)

    async def _is_stored(self, delivery: Delivery) -> bool:
        """By its id, a copy that a gateway sent there is the same one."""
        subject, headers = lane_subject(delivery.subject), _identity(delivery.headers)
        try:
            answer = await request(self.bus, subject, delivery.data, timeout_s=API_TIMEOUT_S, headers=headers)
        except BusError as error:
            log.info("work sent by name is not handed over yet", extra={"error": str(error)})
            return False
        ack = decode_pub_ack(answer)
        if not isinstance(ack, PubAck):
            log.info("work sent by name is not handed over yet", extra={"error": ack.description or ack.reason})
        return isinstance(ack, PubAck)


def _identity(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {MESSAGE_ID: headers[MESSAGE_ID]} if MESSAGE_ID in headers else {}
