"""Documents in the published style, and the repository's own, are read and route (wire-facts 3.6, §16.1)."""

from pathlib import Path

import pytest

from sie.domain.bundle import Bundle
from sie.domain.model import Profile
from sie.domain.registry import RegistrySnapshot
from sie.wire.converters import WireError
from sie.wire.documents import model_of, parse_bundle, parse_model

ROOT = Path(__file__).parents[2] / "bundles"
OWN_BUNDLES = sorted(ROOT.glob("*.yaml"))
OWN_MODELS = sorted((ROOT / "models").glob("*.yaml"))

MODEL = """
# A model as the published catalogue writes one.
sie_id: BAAI/bge-m3
hf_id: BAAI/bge-m3
hf_revision: 5617a9f61b028005a4858fdac845db406aefb181
pool: Team-A
inputs:
  text: true
  image: false
tasks:
  encode:
    dense: {dim: 1024}
    sparse: {dim: 250002}
    multivector: null
  score: null
max_sequence_length: 8192
profiles:
  default:
    adapter_path: sie_server.adapters.bge_m3_flash:BGEM3FlashAdapter
    max_batch_tokens: 16384
    compute_precision: bfloat16
    adapter_options:
      loadtime: {}
      runtime:
        normalize: true
        query_template: "query: {text}"
    adaptive_batching: {enabled: true, target_p50_ms: 50.5}
  small:
    extends: default
    max_batch_tokens: 1024
"""

BUNDLE = """
name: sglang-embedding
priority: 21
engine: pytorch
default: false
adapters:
- sie_server.adapters.sglang.embedding
deps: [sglang==0.5]
"""


def test_a_model_of_the_published_style_is_read() -> None:
    model = parse_model(MODEL)
    assert (model.sie_id, model.pool, model.inputs) == ("BAAI/bge-m3", "team-a", ("text",))
    assert model.hf_revision == "5617a9f61b028005a4858fdac845db406aefb181"
    assert model.encode_dims == {"dense": 1024, "sparse": 250002}
    assert (model.scores, model.extracts, model.max_sequence_length) == (False, False, 8192)
    assert list(model.profiles) == ["default", "small"]


def test_an_extending_profile_of_the_published_style_resolves() -> None:
    model = parse_model(MODEL)
    small = next(name for name in model.profiles if name == "small")
    assert model.effective(small) == Profile(
        adapter_path="sie_server.adapters.bge_m3_flash:BGEM3FlashAdapter",
        max_batch_tokens=1024,
        compute_precision="bfloat16",
        options={"loadtime": {}, "runtime": {"normalize": True, "query_template": "query: {text}"}},
    )


def test_a_bundle_of_the_published_style_is_read() -> None:
    bundle = parse_bundle(BUNDLE, stem="file")
    assert bundle == Bundle(bundle.name, ("sie_server.adapters.sglang.embedding",), 21, "pytorch")
    assert bundle.name == "sglang-embedding"


def test_a_bundle_without_a_name_is_called_by_its_file() -> None:
    bundle = parse_bundle("adapters: [acme.enc]", stem="by-file")
    assert (bundle.name, bundle.priority, bundle.engine) == ("by-file", 100, "pytorch")


def test_every_model_of_the_repository_is_served_by_a_bundle_of_the_repository() -> None:
    bundles = [parse_bundle(path.read_text(encoding="utf-8"), stem=path.stem) for path in OWN_BUNDLES]
    models = [parse_model(path.read_text(encoding="utf-8")) for path in OWN_MODELS]
    snapshot = RegistrySnapshot.of(bundles, models)
    assert models
    for model in models:
        assert {snapshot.find(model.serving_id(profile)) is not None for profile in model.profiles} == {True}


@pytest.mark.parametrize("path", OWN_MODELS, ids=lambda path: path.stem)
def test_a_model_of_the_repository_lies_in_the_file_that_its_id_names(path: Path) -> None:
    assert parse_model(path.read_text(encoding="utf-8")).sie_id.replace("/", "__") == path.stem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be a map, not null"),
        ("profiles: {}", "sie_id: is required"),
        ("{sie_id: a, profiles: {p: {compute_precision: int8}}}", "profiles.p.compute_precision: must be one of"),
        ("{sie_id: a, profiles: {p: {max_batch_tokens: yes}}}", "profiles.p.max_batch_tokens: must be an integer"),
        ("{sie_id: a, profiles: {p: null}}", "profiles.p: must be a map, not null"),
        ("{sie_id: 1}", "sie_id: must be a string, not an integer"),
        ("{sie_id: a, tasks: {encode: {dense: {dim: x}}}}", "tasks.encode.dense.dim: must be an integer, not a string"),
        ("{sie_id: a, profiles: {}, inputs: {text: 1}}", "inputs.text: must be true or false"),
    ],
)
def test_a_bad_model_is_refused_with_the_place_of_the_fault(text: str, problem: str) -> None:
    with pytest.raises(WireError) as told:
        parse_model(text)
    assert str(told.value).startswith(problem)


def test_a_seed_may_have_its_id_as_its_name() -> None:
    assert parse_model("{name: acme/one}") == parse_model("{sie_id: acme/one, profiles: {}}")
    assert parse_model("{sie_id: acme/one, name: other}").sie_id == "acme/one"


def test_what_a_newer_service_wrote_is_read_for_what_is_known() -> None:
    text = "{sie_id: acme/one, brand_new: {deep: [1]}, profiles: {default: {adapter_path: a.b:C, also_new: 1}}}"
    assert parse_model(text) == parse_model("{sie_id: acme/one, profiles: {default: {adapter_path: a.b:C}}}")
    assert parse_bundle("{name: a, brand_new: 1, deps: {x: '==1'}}", stem="a") == parse_bundle("name: a", stem="a")


@pytest.mark.parametrize("options", ["text", [], 0])
def test_options_that_are_no_map_are_kept_for_the_hash_alone(options: object) -> None:
    model = model_of({"sie_id": "a", "profiles": {"default": {"adapter_options": options}}})
    assert [(p.options, p.written_options) for p in model.profiles.values()] == [(None, options)]


@pytest.mark.parametrize(
    ("field", "value"),
    [("hf_revision", "\ud800"), ("max_sequence_length", 2**64), ("routing", {"wake_above": float("nan")})],
)
def test_a_model_of_the_export_holds_nothing_that_a_peer_could_not_read(field: str, value: object) -> None:
    """Such a value would break every hash and every later export, so its row is refused here."""
    with pytest.raises(WireError, match=f"^{field}"):
        model_of({"sie_id": "a", "profiles": {}, field: value})


def test_a_bundle_with_a_bad_engine_or_name_is_refused_with_its_place() -> None:
    with pytest.raises(WireError, match=r"^engine: must be one of pytorch, candle, not 'jax'$"):
        parse_bundle("{name: a, engine: jax}", stem="a")
    with pytest.raises(WireError, match=r"^name: bundle 'a b' must match"):
        parse_bundle("name: a b", stem="a")
    with pytest.raises(WireError, match=r"^must be a map, not null$"):
        parse_bundle("", stem="a")


def test_a_bundle_that_lists_another_engines_adapters_is_refused() -> None:
    candle = "sie_server_rust.adapters.candle"
    with pytest.raises(WireError, match=rf"^adapters: a pytorch bundle cannot list {candle}…: {candle}\.x$"):
        parse_bundle(f"{{name: a, adapters: [a.b, {candle}.x]}}", stem="a")
    with pytest.raises(WireError, match=rf"^adapters: a candle bundle lists only {candle}…: a\.b$"):
        parse_bundle(f"{{name: a, engine: candle, adapters: [a.b, {candle}.x]}}", stem="a")
