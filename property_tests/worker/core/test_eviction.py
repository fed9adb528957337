"""Room is made only where it helps, by those that may leave, and by none that is not needed for it."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sie.worker.core.eviction import NO_WORK, Evict, Fits, Later, Never, Resident, idle_ones, plan_room

BUDGET = 100
orders = st.just(NO_WORK) | st.integers(0, 20).map(float)


@st.composite
def residents(draw: st.DrawFn) -> list[Resident]:
    count = draw(st.integers(0, 6))
    flags = st.booleans()
    return [
        Resident(
            serving_id=f"m{number}",
            memory_bytes=draw(st.integers(0, 60)),
            used_s=draw(st.floats(0, 10)),
            is_kept=draw(flags),
            is_fixed=draw(flags),
            is_leaving=draw(flags),
            is_running=draw(flags),
            has_run=draw(flags),
            waiting=draw(orders),
        )
        for number in range(count)
    ]


def sum_of(some: Sequence[Resident]) -> int:
    return sum(resident.memory_bytes for resident in some)


@given(st.integers(0, 120), residents(), orders)
def test_a_plan_keeps_the_budget_and_those_that_stay(need: int, there: list[Resident], waiting: float) -> None:
    used = sum_of(there)
    leaving = sum_of([one for one in there if one.is_leaving])
    match plan_room(need, BUDGET, there, waiting=waiting):
        case Fits():
            assert used + need <= BUDGET
        case Never(room_bytes):
            assert need > BUDGET - sum_of([one for one in there if one.is_kept])
            assert 0 <= room_bytes <= BUDGET
        case Later():
            assert used + need > BUDGET
        case Evict(names):
            gone = [one for one in there if one.serving_id in names]
            assert used - leaving - sum_of(gone) + need <= BUDGET
            assert not any(one.is_kept or one.is_fixed or one.is_leaving for one in gone)
            for one in gone:
                assert used - leaving - sum_of(gone) + one.memory_bytes + need > BUDGET, "it need not have gone"
                if not one.is_idle:
                    assert one.has_run, "it was loaded for work, and has run none of it"
                    assert one.waiting > waiting, "its own work is older"


@given(st.integers(1, 120), residents(), orders)
def test_nobody_is_disturbed_while_the_idle_are_enough(need: int, there: list[Resident], waiting: float) -> None:
    plan = plan_room(need, BUDGET, there, waiting=waiting)
    idle = set(idle_ones(there))
    if isinstance(plan, Evict) and not set(plan.serving_ids) <= idle:
        freed = sum_of([one for one in there if one.serving_id in idle or one.is_leaving])
        assert sum_of(there) - freed + need > BUDGET


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6, unique=True))
def test_the_least_recently_used_leaves_first(used_s: list[float]) -> None:
    there = [Resident(f"m{n}", 10, used_s=when) for n, when in enumerate(used_s)]
    plan = plan_room(1, 10 * len(there), there)
    assert plan == Evict((f"m{used_s.index(min(used_s))}",))


@given(st.lists(st.integers(0, 20), min_size=2, max_size=6, unique=True), st.integers(0, 20))
def test_of_those_with_work_the_youngest_leaves_and_none_for_younger_work(orders: list[int], mine: int) -> None:
    there = [Resident(f"m{n}", 10, waiting=float(order)) for n, order in enumerate(orders)]
    plan = plan_room(1, 10 * len(there), there, waiting=float(mine))
    youngest = max(orders)
    assert plan == (Evict((f"m{orders.index(youngest)}",)) if youngest > mine else Later())


@given(st.integers(0, 1000), residents())
def test_without_a_budget_there_is_always_room(need: int, there: list[Resident]) -> None:
    assert plan_room(need, None, there) == Fits()
