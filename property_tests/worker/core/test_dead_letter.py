"""A worker's letter is of the same message as the broker's would be, and says why (§8)."""

from hypothesis import given
from hypothesis import strategies as st

from property_tests.wire.test_dead_letter import FROM_A_SERVER
from sie.bus.jetstream_api import ConsumerSpec, Delivery
from sie.domain.ids import WorkerId
from sie.testing import strategies
from sie.wire.dead_letter import GIVEN_UP, advisory_of, dead_letter, decode_dead_letter, encode_dead_letter
from sie.worker.core.dead_letter import letter_of
from sie.worker.core.flights import GivenUp

CONSUMER = ConsumerSpec(str(FROM_A_SERVER["stream"]), str(FROM_A_SERVER["consumer"]), "sie.work.default.l4.default.*")


@given(
    st.integers(1, 2**63),
    st.integers(1, 20),
    st.binary(max_size=50),
    strategies.worker_ids,
    strategies.texts,
    st.integers(0, 4_000_000_000),
)
def test_a_worker_keeps_what_the_broker_would_have_kept_under_the_same_id(
    seq: int, deliveries: int, data: bytes, worker: WorkerId, words: str, now_s: int
) -> None:
    delivery = Delivery("sie.work.default.l4.default.m", data, {}, "$JS.ACK", seq, deliveries, 0)
    given_up = GivenUp(id=1, error_code="inference_error", error=words)
    letter = letter_of(delivery, CONSUMER, worker, given_up, now_s=now_s)
    brokers = dead_letter(advisory_of({**FROM_A_SERVER, "stream_seq": seq}), delivery.subject, data)
    assert letter.message_id == brokers.message_id
    assert (letter.subject, letter.work, letter.advisory.deliveries) == (delivery.subject, data, deliveries)
    told = letter.advisory.told
    assert (told["type"], told["worker"], told["error"]) == (GIVEN_UP, worker, words)
    assert decode_dead_letter(encode_dead_letter(letter)) == letter
