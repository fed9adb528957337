"""A clock beside the gateway's store, in its loop (`ci/bench pools`): how long does the loop stand still, and how much
of that is work of its own? What else runs on the machine only makes it wait.
"""

import time
from collections.abc import Sequence
from typing import NoReturn

import attrs
import trio

GAP_LIMIT_MS = 20.0
TICK_S = 0.001


@attrs.frozen
class Gap:
    """Between two ticks: its end on the monotonic clock, how long it was, and the thread's processor time in it."""

    ended_at: float
    took_s: float
    cpu_s: float


@attrs.frozen
class Span:
    """How long something took, of the loop's thread how much processor time, and the longest gap meanwhile by both
    measures, with how many were over the limit.
    """

    took_s: float
    cpu_s: float
    longest_ms: float
    longest_cpu_ms: float
    over: int


def span(began: float, ended_at: float, gaps: Sequence[Gap]) -> Span:
    """Of the gaps, those that lie in it in part or in whole."""
    within = [gap for gap in gaps if began <= gap.ended_at and gap.ended_at - gap.took_s <= ended_at]
    lengths_ms = [1000 * gap.took_s for gap in within]
    return Span(
        took_s=ended_at - began,
        cpu_s=sum(gap.cpu_s for gap in within),
        longest_ms=max(lengths_ms, default=0.0),
        longest_cpu_ms=max((1000 * gap.cpu_s for gap in within), default=0.0),
        over=sum(length_ms > GAP_LIMIT_MS for length_ms in lengths_ms),
    )


async def tick_forever(gaps: list[Gap]) -> NoReturn:
    """All of them are noted."""
    last, used_s = time.monotonic(), time.thread_time()
    while True:
        await trio.sleep(TICK_S)
        now, used_now_s = time.monotonic(), time.thread_time()
        gaps.append(Gap(now, now - last, used_now_s - used_s))
        last, used_s = now, used_now_s
