"""A heartbeat tells a gateway what the worker knew (wire-facts 2.5), and a strange detail in it costs that detail."""

import json
from collections.abc import Mapping

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.worker import WorkerStatus
from sie.testing import strategies
from sie.wire.codec import pack, unpack
from sie.wire.heartbeat import decode_heartbeat, encode_heartbeat
from tests.wire.refusals import problems_of, with_each_field_wrong

NAMED = ("name", "pool_name", "machine_profile", "bundle")
sizes = st.integers(0, 2**48)
statuses = st.builds(
    attrs.evolve,
    strategies.worker_statuses,
    gpu_count=st.integers(1, 8),
    gpu=st.sampled_from(("", "l4")),
    max_batch_requests=st.integers(0, 10**6),
    says_saturated=st.booleans(),
    memory_used_bytes=sizes,
    memory_total_bytes=sizes,
)


def written(status: WorkerStatus) -> dict[str, object]:
    beat = unpack(encode_heartbeat(status))
    assert isinstance(beat, dict)
    return beat


def decoded(beat: Mapping[str, object]) -> WorkerStatus:
    return decode_heartbeat(pack(beat))


@given(statuses)
def test_decoding_undoes_encoding(status: WorkerStatus) -> None:
    assert decode_heartbeat(encode_heartbeat(status)) == status


@given(statuses)
def test_json_says_the_same_as_msgpack(status: WorkerStatus) -> None:
    assert decode_heartbeat(json.dumps(written(status)).encode()) == status


@given(statuses, strategies.json_maps)
def test_the_keys_of_a_newer_peer_are_tolerated(status: WorkerStatus, more: dict[str, object]) -> None:
    assert decoded({**{f"new_{key}": value for key, value in more.items()}, **written(status)}) == status


@given(statuses)
def test_a_value_of_the_wrong_type_costs_its_field_and_no_other(status: WorkerStatus) -> None:
    for name, data in with_each_field_wrong(encode_heartbeat(status)):
        beat = written(status)
        del beat[name]
        assert decode_heartbeat(data, subject="sie.health.w") == decode_heartbeat(pack(beat), subject="sie.health.w")


@given(statuses)
def test_a_field_that_is_missing_leaves_the_others(status: WorkerStatus) -> None:
    for name in written(status):
        beat = written(status)
        del beat[name]
        found = decode_heartbeat(pack(beat), subject=f"sie.health.{status.worker}")
        assert found.worker == status.worker
        assert found.ready == (status.ready and name != "ready")


@given(statuses, strategies.json_values)
def test_a_state_without_a_word_of_ours_drops_neither_the_beat_nor_the_model(
    status: WorkerStatus, state: object
) -> None:
    found = decoded({**written(status), "models": [{"name": "acme/m", "state": state}, state, {"state": "loaded"}]})
    assert found.models[0].serving_id == "acme/m"
    assert found.worker == status.worker
    assert {m.serving_id for m in found.models} == {"acme/m", *status.loaded}


@given(statuses, st.sampled_from(NAMED), st.sampled_from(("a b", "a*", "é", "x" * 129)))
def test_a_name_that_may_not_be_a_token_is_refused(status: WorkerStatus, key: str, bad: str) -> None:
    (problem,) = problems_of(decode_heartbeat, pack({**written(status), key: bad}))
    assert repr(bad) in problem.message


@given(st.binary(max_size=30) | strategies.json_values.map(pack))
def test_any_payload_is_a_status_or_a_wire_error(data: bytes) -> None:
    assert problems_of(decode_heartbeat, data) or isinstance(decode_heartbeat(data), WorkerStatus)


def test_a_beat_of_nothing_but_a_name_has_every_default() -> None:
    found = decoded({"name": "w", "gpu_count": 0, "bundle": ""})
    assert (str(found.lane), found.ready, found.gpu_count) == ("default/default/default", False, 1)
    assert (found.bundle_config_hash, found.models, found.pending_items) == (None, (), 0)


def test_depths_and_memory_are_summed_over_models_and_devices_where_those_are_told() -> None:
    rows = [{"name": "a", "queue_depth": 2}, {"name": "b", "queue_depth": 3}]
    gpus = [{"gpu_type": "l4", "memory_used_bytes": 5, "memory_total_bytes": 9}, {"memory_used_bytes": 1}]
    found = decoded({"name": "w", "models": rows, "gpus": gpus, "queue_depth": 99, "memory_used_bytes": 99})
    assert (found.pending_items, found.memory_used_bytes, found.memory_total_bytes) == (5, 6, 9)
    assert found.gpu == "l4"
    compact = decoded({"name": "w", "queue_depth": 4, "memory_used_bytes": 7, "memory_total_bytes": 8})
    assert (compact.pending_items, compact.memory_used_bytes, compact.memory_total_bytes) == (4, 7, 8)


def test_a_model_that_is_only_listed_as_loaded_is_loaded() -> None:
    found = decoded({"name": "w", "loaded_models": ["a", "b"], "models": [{"name": "a"}, {"name": "c"}]})
    assert [(m.serving_id, m.state) for m in found.models] == [
        ("a", "loaded"),
        ("c", "available"),
        ("b", "loaded"),
    ]


@pytest.mark.parametrize(
    ("name", "subject", "worker", "url"),
    [
        ("w-1", "sie.health.other", "w-1", None),
        ("", "sie.health.w-2", "w-2", None),
        ("http://10.0.0.7:8081/", "", "10.0.0.7_8081", "http://10.0.0.7:8081/"),
    ],
)
def test_a_worker_goes_by_its_name_its_address_or_its_subject(
    name: str, subject: str, worker: str, url: str | None
) -> None:
    found = decode_heartbeat(pack({"name": name}), subject=subject)
    assert (found.worker, found.url) == (worker, url)
