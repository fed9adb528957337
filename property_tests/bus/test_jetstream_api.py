"""The codec of JetStream's JSON API and ack subjects (§8.2)."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sie.bus.api import Message
from sie.bus.jetstream_api import (
    NS_PER_S,
    ConsumerSpec,
    Delivery,
    Discard,
    PubAck,
    PubRefused,
    Retention,
    Storage,
    StreamSpec,
    decode_delivery,
    decode_pub_ack,
    encode_consumer,
    encode_json,
    encode_nak,
    encode_stream,
)

tokens = st.text(st.characters(categories=["L", "N"], include_characters="-_/"), min_size=1, max_size=12)
counts = st.integers(min_value=0, max_value=2**63 - 1)
seconds = st.integers(min_value=0, max_value=10**9).map(lambda ms: ms / 1000)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
retentions: st.SearchStrategy[Retention] = st.sampled_from(["workqueue", "limits"])
storages: st.SearchStrategy[Storage] = st.sampled_from(["memory", "file"])
discards: st.SearchStrategy[Discard] = st.sampled_from(["new", "old"])
streams = st.builds(
    StreamSpec,
    name=tokens,
    subjects=st.lists(tokens, max_size=3).map(tuple),
    retention=retentions,
    storage=storages,
    replicas=st.integers(1, 5),
    max_age_s=seconds,
    max_msgs=counts,
    discard=discards,
    duplicate_window_s=st.none() | seconds,
)


def stream_of(config: dict[str, object]) -> dict[str, object]:
    """The spec's fields back from JSON, by a second reading of the server's field names."""
    window = config.get("duplicate_window")
    age = config["max_age"]
    assert isinstance(age, int)
    assert window is None or isinstance(window, int)
    return {
        "name": config["name"],
        "subjects": config["subjects"],
        "retention": config["retention"],
        "storage": config["storage"],
        "replicas": config["num_replicas"],
        "max_age_s": age / NS_PER_S,
        "max_msgs": config["max_msgs"],
        "discard": config["discard"],
        "duplicate_window_s": None if window is None else window / NS_PER_S,
    }


@given(streams)
def test_a_stream_spec_survives_its_json(spec: StreamSpec) -> None:
    back = stream_of(json.loads(encode_json(encode_stream(spec))))
    assert back == {
        "name": spec.name,
        "subjects": list(spec.subjects),
        "retention": spec.retention,
        "storage": spec.storage,
        "replicas": spec.replicas,
        "max_age_s": spec.max_age_s,
        "max_msgs": spec.max_msgs,
        "discard": spec.discard,
        "duplicate_window_s": spec.duplicate_window_s,
    }


@given(st.builds(ConsumerSpec, tokens, tokens, tokens, seconds, counts, counts))
def test_a_consumer_is_always_a_durable_with_explicit_acks(spec: ConsumerSpec) -> None:
    config = json.loads(encode_json(encode_consumer(spec)))
    assert config["name"] == config["durable_name"] == spec.name
    assert config["ack_policy"] == "explicit"
    assert config["ack_wait"] == round(spec.ack_wait_s * NS_PER_S)
    assert "deliver_subject" not in config


@given(tokens, tokens, counts, counts, counts, counts, counts, st.sampled_from([9, 11, 12]))
def test_every_form_of_an_ack_subject_decodes_to_the_same_delivery(
    stream: str, consumer: str, deliveries: int, seq: int, consumer_seq: int, time: int, pending: int, form: int
) -> None:
    prefix = "$JS.ACK" if form == 9 else "$JS.ACK.domain.account"
    suffix = ".random" if form == 12 else ""
    reply = f"{prefix}.{stream}.{consumer}.{deliveries}.{seq}.{consumer_seq}.{time}.{pending}{suffix}"
    assert len(reply.split(".")) == form
    found = decode_delivery(Message("s", b"d", reply, {"A": "b"}))
    assert found == Delivery("s", b"d", {"A": "b"}, reply, seq, deliveries, pending)


@given(st.text(max_size=60) | st.lists(tokens, max_size=13).map(lambda rest: ".".join(["$JS", "ACK", *rest])))
def test_any_other_reply_is_no_delivery_and_no_error(reply: str) -> None:
    found = decode_delivery(Message("s", b"", reply))
    assert found is None or found.ack_subject == reply


@given(tokens, counts, st.booleans(), st.dictionaries(st.text(max_size=8), json_values, max_size=4))
def test_a_publish_ack_is_read_through_keys_we_do_not_know(
    stream: str, seq: int, duplicate: bool, unknown: dict[str, object]
) -> None:
    body = {**{k: v for k, v in unknown.items() if k != "error"}, "stream": stream, "seq": seq, "duplicate": duplicate}
    assert decode_pub_ack(Message("r", encode_json(body))) == PubAck(stream, seq, duplicate)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_whatever_answers_a_publish_is_an_ack_or_a_refusal(data: bytes) -> None:
    assert isinstance(decode_pub_ack(Message("r", data)), PubAck | PubRefused)


@given(st.integers(0, 10**6).map(lambda ms: ms / 1000))
def test_a_nak_carries_its_delay_in_nanoseconds(delay_s: float) -> None:
    word, _, options = encode_nak(delay_s).partition(b" ")
    assert word == b"-NAK"
    assert (json.loads(options)["delay"] if options else 0) == round(delay_s * NS_PER_S)
