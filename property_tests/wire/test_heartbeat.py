"""A heartbeat tells a gateway what the worker knew (wire-facts 2.5), and no garbled one is believed."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.worker import WorkerStatus
from sie.testing import strategies
from sie.wire.codec import pack, unpack
from sie.wire.heartbeat import decode_heartbeat, encode_heartbeat
from tests.wire.refusals import problems_of, with_each_field_wrong


@given(strategies.worker_statuses)
def test_decoding_undoes_encoding(status: WorkerStatus) -> None:
    assert decode_heartbeat(encode_heartbeat(status)) == status


@given(strategies.worker_statuses, strategies.json_maps)
def test_the_keys_of_a_newer_peer_are_tolerated(status: WorkerStatus, more: dict[str, object]) -> None:
    written = unpack(encode_heartbeat(status))
    assert isinstance(written, dict)
    assert decode_heartbeat(pack({**{f"new_{key}": value for key, value in more.items()}, **written})) == status


@given(strategies.worker_statuses)
def test_a_value_of_the_wrong_type_is_refused_with_its_place(status: WorkerStatus) -> None:
    for name, data in with_each_field_wrong(encode_heartbeat(status)):
        assert [p.loc[0] for p in problems_of(decode_heartbeat, data)] == [name]


@given(
    strategies.worker_statuses,
    st.sampled_from(("name", "pool_name", "machine_profile", "bundle")),
    st.sampled_from(("a b", "a*", "é", "x" * 129)),
)
def test_a_name_that_may_not_be_a_token_is_refused(status: WorkerStatus, key: str, bad: str) -> None:
    written = unpack(encode_heartbeat(status))
    assert isinstance(written, dict)
    (problem,) = problems_of(decode_heartbeat, pack({**written, key: bad}))
    assert repr(bad) in problem.message


@given(st.binary(max_size=30) | strategies.json_values.map(pack))
def test_any_payload_is_a_status_or_a_wire_error(data: bytes) -> None:
    assert problems_of(decode_heartbeat, data) or isinstance(decode_heartbeat(data), WorkerStatus)
