"""The pure parts of `ci/bench worker`: how idle a device was, and what the worker is given."""

import pytest

from ci.lib.bench_worker import idle_percent
from ci.lib.bench_worker_facts import REQUEST_ITEMS, minilm, scripted
from ci.lib.bench_worker_load import Answered, Times
from sie.domain.ids import DEFAULT_PROFILE
from sie.wire.work import decode_work


def answered(at_s: float, inference_ms: float) -> Answered:
    return Answered(at_s, Times(0.1, inference_ms, 0.1))


def test_a_device_that_computes_from_one_end_of_a_batch_to_the_next_is_not_idle() -> None:
    results = [answered(1.0, 10), answered(1.0, 10), answered(2.0, 1000), answered(2.001, 1000), answered(2.5, 500)]
    assert idle_percent(results) == pytest.approx(0)


def test_time_in_which_no_batch_computed_is_idle() -> None:
    assert idle_percent([answered(1.0, 10), answered(2.0, 750)]) == pytest.approx(25)


def test_the_work_is_of_requests_of_a_few_items_and_of_the_configuration_that_the_worker_reads() -> None:
    served = scripted()
    items = [decode_work(served.work(number)) for number in range(REQUEST_ITEMS + 1)]
    assert [item.item_index for item in items] == [*range(REQUEST_ITEMS), 0]
    assert len({item.request_id for item in items}) == 2
    assert {item.bundle_config_hash for item in items} == {served.config_hash}
    assert served.config_hash


def test_the_real_model_is_run_by_the_bundle_that_names_its_adapter() -> None:
    served = minilm()
    assert (served.model.effective(DEFAULT_PROFILE) or served.model.profiles[DEFAULT_PROFILE]).adapter_path is not None
    assert served.config_hash != scripted().config_hash
