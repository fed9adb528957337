"""How does one ask over the bus and wait for one answer? (§8) For control traffic: JetStream's API, status questions.

Hot paths correlate by themselves and keep one deadline sweep instead of a task per answer.
"""

from collections.abc import Mapping
from typing import Protocol

import trio

from sie.bus.api import NO_HEADERS, Message, NoResponders, Publisher, Replies, ReplyTimeout

NO_RESPONDERS = "503"


class Requester(Publisher, Replies, Protocol):
    """What asking needs of the bus."""


async def request(
    bus: Requester, subject: str, data: bytes, *, timeout_s: float, headers: Mapping[str, str] = NO_HEADERS
) -> Message:
    """Raises NoResponders, ReplyTimeout, and whatever `publish_nowait` raises."""
    answers: list[Message] = []  # at most one is kept: forgetting drops the rest
    answered = trio.Event()

    def on_reply(message: Message) -> None:
        answers.append(message)
        correlation.forget()
        answered.set()

    correlation = bus.correlate(on_reply)
    try:
        bus.publish_nowait(subject, data, reply=correlation.subject, headers=headers)
        with trio.move_on_after(timeout_s):
            await answered.wait()
    finally:
        correlation.forget()
    return _judge_answer(subject, answers, timeout_s)


def _judge_answer(subject: str, answers: list[Message], timeout_s: float) -> Message:
    if not answers:
        raise ReplyTimeout(f"no answer on {subject} within {timeout_s} s")
    if answers[0].status == NO_RESPONDERS:
        raise NoResponders(f"nobody listens on {subject}")
    return answers[0]
