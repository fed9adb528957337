"""What a gateway concludes from a heartbeat (§8)."""

import attrs
from hypothesis import given

from sie.domain.worker import WorkerStatus
from sie.testing import strategies


@given(strategies.worker_statuses)
def test_a_draining_worker_takes_no_work_however_ready_it_is(status: WorkerStatus) -> None:
    assert not attrs.evolve(status, draining=True).takes_work
    assert attrs.evolve(status, draining=False).takes_work == status.ready


@given(strategies.worker_statuses)
def test_loaded_names_just_the_models_in_that_state_in_order(status: WorkerStatus) -> None:
    loaded = [model for model in status.models if model.state == "loaded"]
    assert list(status.loaded) == [model.serving_id for model in loaded]
