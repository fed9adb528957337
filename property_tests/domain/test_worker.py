"""What a gateway concludes from a heartbeat (§8)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.worker import RELEASED_AT, SATURATED_AT, WorkerStatus, decide_saturated
from sie.testing import strategies


@given(strategies.worker_statuses)
def test_a_draining_worker_takes_no_work_however_ready_it_is(status: WorkerStatus) -> None:
    assert not attrs.evolve(status, draining=True).takes_work
    assert attrs.evolve(status, draining=False).takes_work == status.ready


@given(strategies.worker_statuses)
def test_loaded_names_just_the_models_in_that_state_in_order(status: WorkerStatus) -> None:
    loaded = [model for model in status.models if model.state == "loaded"]
    assert list(status.loaded) == [model.serving_id for model in loaded]


@given(strategies.worker_statuses, st.integers(1, 10**6), st.booleans())
def test_a_worker_is_full_at_the_upper_mark_and_no_more_at_the_lower_one(
    status: WorkerStatus, capacity: int, before: bool
) -> None:
    sized = attrs.evolve(status, max_batch_requests=capacity)
    load = sized.pending_items / capacity
    full = decide_saturated(sized, before)
    assert full or load < SATURATED_AT
    assert not full or load > RELEASED_AT
    if RELEASED_AT < load < SATURATED_AT:
        assert full == before


@given(strategies.worker_statuses, st.booleans(), st.booleans())
def test_a_worker_that_tells_no_capacity_is_full_by_its_own_word_alone(
    status: WorkerStatus, before: bool, says: bool
) -> None:
    assert decide_saturated(attrs.evolve(status, says_saturated=says), before) == says
