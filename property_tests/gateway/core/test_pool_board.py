"""However pools and workers come and go, the board says what the pure function says of who is there now (§16.3)."""

from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.ids import PoolName, WorkerId
from sie.domain.pool import PoolSpec
from sie.domain.worker import WorkerStatus
from sie.gateway.core.assign import assign
from sie.gateway.core.pool_board import MAX_SINGLE_CHANGES, NOBODY, PoolBoard

STEPS = st.lists(
    pool_strategies.specs()
    | pool_strategies.workers()
    | st.sampled_from("abcd").map(PoolName)
    | pool_strategies.fleets(size=3 * MAX_SINGLE_CHANGES),
    max_size=25,
)
Step = PoolSpec | WorkerStatus | str | list[WorkerStatus]


def step_once(
    board: PoolBoard, specs: dict[PoolName, PoolSpec], fleet: dict[WorkerId, WorkerStatus], step: Step
) -> None:
    match step:
        case PoolSpec():
            board.hold(step)
            specs[step.name] = step
        case WorkerStatus(worker=worker) if step.takes_work:
            board.join(step)
            fleet[worker] = step
        case WorkerStatus(worker=worker):
            board.leave(worker)
            fleet.pop(worker, None)
        case str():
            board.drop(PoolName(step))
            specs.pop(PoolName(step), None)
        case list():
            board.know(step)
            fleet.clear()
            fleet.update({status.worker: status for status in step})


@given(STEPS)
def test_the_board_says_what_the_pure_function_says_after_every_step(steps: list[Step]) -> None:
    board, specs, fleet = PoolBoard(), dict[PoolName, PoolSpec](), dict[WorkerId, WorkerStatus]()
    for step in steps:
        step_once(board, specs, fleet, step)
        expected = assign(specs.values(), fleet.values())
        assert {name: board.assignment(name) for name in specs} == expected
    assert board.assignment(PoolName("nobody")) is NOBODY


@given(st.lists(pool_strategies.specs(), max_size=8), pool_strategies.fleets())
def test_what_went_leaves_no_trace(specs: list[PoolSpec], fleet: list[WorkerStatus]) -> None:
    board = PoolBoard()
    for spec in specs:
        board.hold(spec)
    for status in fleet:
        board.join(status)
    for status in fleet:
        board.leave(status.worker)
    for spec in specs:
        board.drop(spec.name)
    assert board.is_blank
