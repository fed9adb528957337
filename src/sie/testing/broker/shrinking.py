"""What is the least of a history that still shows a disagreement? Pieces are left out, all of one size side by side."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

from sie.testing.broker.histories import with_lapses
from sie.testing.broker.steps import Step

History = tuple[Step, ...]
SmallestOf = Callable[[Sequence[History]], Awaitable[History | None]]
"""The smallest of these that shows the disagreement, None when none of them does."""


async def shrink(history: History, smallest_of: SmallestOf, *, rounds: int) -> History:
    """`rounds` bounds how often `smallest_of` is asked: each time may cost a run of every history on a real server."""
    pieces = 2
    for _ in range(rounds):
        smaller = await smallest_of(without_a_piece(history, pieces))
        if smaller is not None:
            history = smaller
        elif pieces >= len(history):
            break
        else:
            pieces = min(2 * pieces, len(history))
    return history


def without_a_piece(history: History, pieces: int) -> list[History]:
    """The history without each of so many pieces of it, where that is shorter."""
    cuts = [len(history) * number // pieces for number in range(pieces + 1)]
    left = [with_lapses(history[:begin] + history[end:]) for begin, end in pairwise(cuts)]
    return [other for other in left if 0 < len(other) < len(history)]
