"""What does a comparison let pass? One number, at either end of a race inside the server, and nothing besides."""

from sie.testing.broker.comparing import both_on_model, first_difference
from sie.testing.broker.steps import ConsumerStep, LapseStep, PublishStep, PullStep, Step, StreamStep

ONE = PublishStep("a.x", "", 5)
STREAM = StreamStep("CREATE", "limits", "memory", 2, "old", ages=False)
CONSUMER = ConsumerStep("create", "c", "a.*", 3, 1)
PULL = PullStep("c", 2, no_wait=False, stays=True)
HISTORY: tuple[Step, ...] = (STREAM, CONSUMER, ONE, ONE, PULL, ONE, LapseStep())


def test_the_ends_of_the_race_differ_in_the_count_behind_what_was_lent_where_room_was_made() -> None:
    *before, (late, early) = both_on_model("h", HISTORY)
    assert all(one == other for one, other in before)
    assert ".a.x 2 try 1 before 0" in late
    assert early == late.replace("2 try 1 before 0", "2 try 1 before 1")


def test_what_is_told_at_neither_end_is_a_disagreement() -> None:
    expected = both_on_model("h", HISTORY)
    late, early = expected[-1]
    told = [one for one, _ in expected]
    assert first_difference(HISTORY, expected, told) is None
    assert first_difference(HISTORY, expected, [*told[:-1], early]) is None
    found = first_difference(HISTORY, expected, [*told[:-1], late.replace("2 try 1 before 0", "2 try 1 before 2")])
    assert found is not None
    assert found.step == len(HISTORY) - 1
