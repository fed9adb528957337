"""A collector ends exactly once, with the first result of each of its items, whatever else arrives."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.gateway.core.collect import Collected, Collector, GaveUp
from sie.wire.result import WorkResult


def result(request: str, index: int, mark: int) -> WorkResult:
    return WorkResult(
        work_item_id=f"{request}.{index}",
        request_id=request,
        item_index=index,
        success=True,
        result_msgpack=bytes([mark]),
    )


ARRIVALS = st.lists(st.tuples(st.sampled_from(["mine", "other"]), st.integers(-1, 5), st.integers(0, 255)))


@given(st.integers(1, 4), ARRIVALS)
def test_the_first_result_of_each_item_counts_and_nothing_else_does(
    total: int, arrivals: list[tuple[str, int, int]]
) -> None:
    collector, first = Collector("mine", total), dict[int, bytes]()
    for request, index, mark in arrivals:
        over = collector.receive(result(request, index, mark))
        if request == "mine" and 0 <= index < total:
            first.setdefault(index, bytes([mark]))
        assert over == (len(first) == total)
    assert collector.missing == total - len(first)
    if len(first) == total:
        assert isinstance(collector.ending, Collected)
        assert [r.result_msgpack for r in collector.ending.results] == [first[index] for index in range(total)]


@given(st.integers(1, 3), st.permutations(["give up", "finish"]))
def test_the_first_ending_stands(total: int, order: list[str]) -> None:
    collector = Collector("mine", total)
    for step in order:
        if step == "give up":
            collector.give_up(ErrorCode.QUEUE_UNAVAILABLE, "gone")
        else:
            for index in range(total):
                collector.receive(result("mine", index, 0))
    assert isinstance(collector.ending, GaveUp if order[0] == "give up" else Collected)
