"""A history shrinks to the steps that a disagreement needs, and is its own replay file."""

from collections.abc import Sequence

import pytest
import trio

from sie.testing.broker.histories import draw_history, with_lapses
from sie.testing.broker.shrinking import History, shrink
from sie.testing.broker.steps import GetStep, LapseStep, PublishStep, from_json, to_json
from sie.wire.converters import WireError

NEEDED = (PublishStep("a.x", "", 5), GetStep(4))


def shows(history: History) -> bool:
    return all(step in history for step in NEEDED)


async def smallest_of(candidates: Sequence[History]) -> History | None:
    return min(filter(shows, candidates), key=len, default=None)


def test_what_a_disagreement_does_not_need_is_left_out() -> None:
    history = (*draw_history("a", 30), NEEDED[0], *draw_history("b", 30), NEEDED[1])

    async def run() -> History:
        return await shrink(history, smallest_of, rounds=50)

    assert trio.run(run) == NEEDED


def test_shrinking_ends_when_nothing_can_be_left_out() -> None:
    asked = 0

    async def run() -> History:
        async def none_of(_: Sequence[History]) -> History | None:
            nonlocal asked
            asked += 1
            return None

        return await shrink(NEEDED, none_of, rounds=50)

    assert trio.run(run) == NEEDED
    assert asked == 1


def test_a_lapse_stands_wherever_too_many_steps_would_follow_each_other() -> None:
    spaced = with_lapses([GetStep(1)] * 20)
    assert [number for number, step in enumerate(spaced) if step == LapseStep()] == [9, 19]
    assert with_lapses(spaced) == spaced


def test_a_history_is_read_back_as_it_was_written() -> None:
    history = draw_history("json", 200, "own")
    assert from_json(to_json(history)) == history


@pytest.mark.parametrize("text", ["{}", '[{"step": "Nothing"}]', '[{"step": "GetStep", "seq": "1"}]', "[1]"])
def test_what_is_no_history_is_refused(text: str) -> None:
    with pytest.raises(WireError):
        from_json(text)
