"""What may be written as a model (wire-facts 3.6), by example: every field, and each kind of fault with its place."""

import pytest

from sie.domain.model import Json
from sie.wire.model_schema import UNKNOWN_FIELD, check_model_schema
from sie.wire.yaml_reading import load_yaml

EVERYTHING = """
sie_id: acme/one
hf_id: acme/one
hf_revision: null
hf_tokenizer_dependencies: {acme/tokens: 0123456789abcdef0123456789abcdef01234567}
weights_path: null
package_backed: false
remote_backed: true
routing:
  policy: threshold
  fallback_profile: far
  triggers: [provisioning, model_loading, saturated, unhealthy]
  wake_above: 2
  sleep_below: 0.5
  window_s: 60
  cooldown_s: null
pool: Team-A
inputs: {text: true, image: false, audio: false, video: false, document: true}
tasks:
  encode: {dense: {dim: 8}, sparse: {dim: 30522}, multivector: null}
  score: {}
  extract: null
  generate:
    context_length: 4096
    max_output_tokens: 512
    capabilities:
      {grammar: [json_schema, regex, ebnf], streaming: true, tools: false, code: false, sql: false, guard: true}
    chat_template_kwargs: {enable_thinking: false}
    prewarm_grammars: [{name: a, kind: regex, value: "[a-z]"}, {name: b, kind: json_schema, value: {type: object}}]
    grammar_profile: strict
max_sequence_length: 512
profiles:
  default:
    extends: null
    max_batch_tokens: 16384
    compute_precision: bfloat16
    adapter_path: acme.enc:Encoder
    adapter_options: {loadtime: {pooling: mean}, runtime: {normalize: true}}
    adaptive_batching: {enabled: true, target_p50_ms: 50.5, calibration_multiplier: 1, min_target_p50_ms: 1,
      max_target_p50_ms: null, min_wait_ms: 0, max_wait_ms: 5, gain: 0.1, integral_gain: -0.1}
    kv_budget_tokens: 1000
    admission_enabled: true
    max_output_tokens: 100
    chat_template_kwargs: null
    grammar_profile: null
  far: {extends: default}
"""


def told(config: Json) -> list[tuple[tuple[str | int, ...], str]]:
    return [(problem.loc, problem.message) for problem in check_model_schema(config)]


def test_a_document_with_every_field_may_be_written() -> None:
    assert told(load_yaml(EVERYTHING)) == []


def test_no_field_is_required() -> None:
    assert told({}) == told({"profiles": {"p": {}}, "tasks": {"generate": {}}, "routing": {}}) == []


@pytest.mark.parametrize(
    ("config", "place", "message"),
    [
        ([], (), "must be a map, not a list"),
        ({"sie_id": 1}, ("sie_id",), "must be a string, not an integer"),
        ({"sie_id": None}, ("sie_id",), "must be a string, not null"),
        ({"name": "acme/one"}, ("name",), UNKNOWN_FIELD),
        ({"tasks": {"score": {"x": 1}}}, ("tasks", "score", "x"), UNKNOWN_FIELD),
        (
            {"tasks": {"encode": {"dense": {"dim": 0}}}},
            ("tasks", "encode", "dense", "dim"),
            "must be at least 1, not 0",
        ),
        ({"tasks": {"encode": {"dense": 8}}}, ("tasks", "encode", "dense"), "must be a map, not an integer"),
        ({"max_sequence_length": -1}, ("max_sequence_length",), "must be at least 1, not -1"),
        ({"max_sequence_length": True}, ("max_sequence_length",), "must be an integer, not true or false"),
        ({"max_sequence_length": 8.0}, ("max_sequence_length",), "must be an integer, not a number"),
        ({"package_backed": "no"}, ("package_backed",), "must be true or false, not a string"),
        (
            {"hf_tokenizer_dependencies": {"a": 1}},
            ("hf_tokenizer_dependencies", "a"),
            "must be a string, not an integer",
        ),
        ({"routing": {"wake_above": 0}}, ("routing", "wake_above"), "must be above 0, not 0"),
        (
            {"routing": {"policy": "never"}},
            ("routing", "policy"),
            "must be one of remote_only, fallback, threshold, not 'never'",
        ),
        ({"routing": {"triggers": "saturated"}}, ("routing", "triggers"), "must be a list, not a string"),
        ({"inputs": {"text": 1}}, ("inputs", "text"), "must be true or false, not an integer"),
        ({"profiles": [1]}, ("profiles",), "must be a map, not a list"),
        ({"profiles": {"p": None}}, ("profiles", "p"), "must be a map, not null"),
        (
            {"profiles": {"p": {"adapter_options": None}}},
            ("profiles", "p", "adapter_options"),
            "must be a map, not null",
        ),
        (
            {"profiles": {"p": {"adapter_options": {"flag": 0}}}},
            ("profiles", "p", "adapter_options", "flag"),
            UNKNOWN_FIELD,
        ),
        (
            {"profiles": {"p": {"max_batch_tokens": 0}}},
            ("profiles", "p", "max_batch_tokens"),
            "must be at least 1, not 0",
        ),
        (
            {"tasks": {"generate": {"prewarm_grammars": [{"value": 1}]}}},
            ("tasks", "generate", "prewarm_grammars", 0, "value"),
            "must be a string or a map, not an integer",
        ),
        (
            {"profiles": {"p": {"adaptive_batching": {"gain": "x"}}}},
            ("profiles", "p", "adaptive_batching", "gain"),
            "must be a number, not a string",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(config: Json, place: tuple[str | int, ...], message: str) -> None:
    assert told(config) == [(place, message)]


def test_every_fault_is_told_sorted_by_place() -> None:
    config: Json = {"zeta": 1, "pool": 1, "profiles": {"b": {"x": 1}, "a": {"y": 1, "max_batch_tokens": "1"}}}
    assert [place for place, _ in told(config)] == [
        ("pool",),
        ("profiles", "a", "max_batch_tokens"),
        ("profiles", "a", "y"),
        ("profiles", "b", "x"),
        ("zeta",),
    ]
