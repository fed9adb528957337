"""Each task on BERT against what the reference libraries answer (spec/golden/bert_tasks): tiny seeded checkpoints, and
the published weights of SPLADE-tiny and Rampart.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from sie.adapters.api import EncodeInput, ExtractInput, LoadFailed, ModelSpec, ScoreInput, SparseVector
from sie.adapters.onnx import read_onnx
from sie.adapters.weights import resolve_checkpoint
from tests.adapters.checkpoints import spec_for

if TYPE_CHECKING:
    from sie.adapters.tasks.cross_encoder import CrossEncoder
    from sie.adapters.tasks.multivector import LateInteraction
    from sie.adapters.tasks.sparse import SparseEncoder
    from sie.adapters.tasks.tokens import TokenClassifier

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "spec/golden/bert_tasks"
TEXTS = json.loads((GOLDEN / "texts.json").read_bytes())
Floats = NDArray[np.float32]


def golden(name: str) -> Floats:
    return np.asarray(np.load(GOLDEN / name, allow_pickle=False), np.float32)


def catalogue_spec(name: str) -> ModelSpec:
    """The default profile of a baseline model."""
    model = yaml.safe_load((ROOT / f"bundles/models/{name}.yaml").read_bytes())
    options = model["profiles"]["default"]["adapter_options"]
    return ModelSpec(
        model_id=model["sie_id"],
        hf_id=model.get("hf_id"),
        hf_revision=model.get("hf_revision"),
        weights_path=None,
        max_sequence_length=model["max_sequence_length"],
        loadtime=options["loadtime"],
        runtime=options.get("runtime", {}),
    )


def dense_form(vector: SparseVector | None) -> Floats:
    assert vector is not None
    assert np.all(np.diff(vector.indices) > 0)
    full = np.zeros(vector.dims, np.float32)
    full[vector.indices] = vector.values
    return full


def test_a_cross_encoders_scores_are_the_references(engine_cache: str) -> None:
    scorer = cross_encoder(engine_cache, activation="none")
    wanted = golden("cross_encoder/logits.npy").reshape(3, -1)
    queries, words = list(dict.fromkeys(query for query, _ in TEXTS["pairs"])), tuple(TEXTS["words"])
    rows = scorer.score([ScoreInput(query, words) for query in queries]).rows
    assert np.abs(np.stack([row.scores for row in rows]) - wanted).max() <= 1e-5
    alone = scorer.score([ScoreInput(queries[1], (words[3],))]).rows[0].scores
    assert np.abs(alone - rows[1].scores[3]).max() <= 1e-6


def test_a_cross_encoders_scores_are_within_0_and_1_unless_told_otherwise(engine_cache: str) -> None:
    (row,) = cross_encoder(engine_cache).score([ScoreInput("abc", tuple(TEXTS["words"]))]).rows
    logits = golden("cross_encoder/logits.npy")[: len(TEXTS["words"])]
    assert np.abs(row.scores - 1 / (1 + np.exp(-logits))).max() <= 1e-5


def test_a_head_with_several_labels_is_no_scorer(engine_cache: str) -> None:
    from sie.adapters.tasks.cross_encoder import CrossEncoder  # noqa: PLC0415 - imports JAX

    spec = spec_for(GOLDEN / "token_classifier")
    with pytest.raises(LoadFailed, match="a scorer has one label, and this has 5"):
        CrossEncoder.load(spec, cache_dir=engine_cache, report=lambda _: None)


def test_sparse_activations_are_the_references(engine_cache: str) -> None:
    encoder = sparse_encoder(spec_for(GOLDEN / "masked_lm"), engine_cache)
    rows = encoder.encode([EncodeInput(word) for word in TEXTS["words"]]).rows
    found = np.stack([dense_form(row.sparse) for row in rows])
    assert np.abs(found - golden("masked_lm/activations.npy")).max() <= 1e-5


def test_the_weights_of_splade_give_the_activations_of_the_reference(engine_cache: str) -> None:
    encoder = sparse_encoder(catalogue_spec("sie__splade-tiny"), engine_cache)
    with np.load(GOLDEN / "splade.npz", allow_pickle=False) as stored:
        wanted = stored["activations"]
    texts = TEXTS["splade"]
    rows = encoder.encode([EncodeInput(text) for text in texts]).rows
    assert np.abs(np.stack([dense_form(row.sparse) for row in rows]) - wanted).max() <= 1e-5
    for text, row in zip(texts, rows, strict=True):
        (alone,) = encoder.encode([EncodeInput(text)]).rows
        batched = dense_form(row.sparse)
        assert np.abs(dense_form(alone.sparse) - batched).max() <= 5e-6  # of logits over 10


def test_a_token_classifiers_likelihoods_are_the_references(engine_cache: str) -> None:
    tagger = token_classifier(spec_for(GOLDEN / "token_classifier"), engine_cache)
    found = likelihoods_of(tagger, TEXTS["words"])
    assert np.abs(np.concatenate(found) - softmax(golden("token_classifier/logits.npy"))).max() <= 1e-5


def test_the_dequantised_weights_of_rampart_give_the_likelihoods_of_the_reference(engine_cache: str) -> None:
    tagger = token_classifier(catalogue_spec("nationaldesignstudio__rampart"), engine_cache)
    found = likelihoods_of(tagger, TEXTS["ner"])
    for number, likelihoods in enumerate(found):
        assert np.abs(likelihoods - softmax(golden(f"rampart_{number}.npy"))).max() <= 1e-5
    alone = [likelihoods_of(tagger, [text])[0] for text in TEXTS["ner"]]
    assert max(np.abs(one - both).max() for one, both in zip(alone, found, strict=True)) <= 1e-5  # of logits over 10


def test_rampart_finds_who_and_where_at_characters_of_the_text(engine_cache: str) -> None:
    tagger = token_classifier(catalogue_spec("nationaldesignstudio__rampart"), engine_cache)
    text = "😀 Maria Gonzalez, 742 Evergreen Terrace, Springfield, IL 62704, 415-555-0132"
    (row,) = tagger.extract([ExtractInput(text)]).rows
    found = {entity.label: entity.text for entity in row.entities}
    assert found["GIVEN_NAME"] == "Maria"
    assert found["SURNAME"] == "Gonzalez"
    assert found["CITY"] == "Springfield"
    assert found["ZIP_CODE"] == "62704"
    assert found["PHONE"] == "415-555-0132"
    assert all(text[entity.start : entity.end] == entity.text for entity in row.entities)
    (named,) = tagger.extract([ExtractInput(text, ("SURNAME",))]).rows
    assert [entity.label for entity in named.entities] == ["SURNAME"]


def test_a_text_longer_than_a_row_is_read_to_its_end(engine_cache: str) -> None:
    tagger = token_classifier(catalogue_spec("nationaldesignstudio__rampart"), engine_cache)
    text = "The weather was fine that day. " * 120 + "My name is Maria Gonzalez."
    (row,) = tagger.extract([ExtractInput(text)]).rows
    assert "Gonzalez" in {entity.text for entity in row.entities if entity.label == "SURNAME"}
    assert all(text[entity.start : entity.end] == entity.text for entity in row.entities)


def test_a_text_of_too_many_windows_and_a_label_that_nobody_knows_are_told(engine_cache: str) -> None:
    tagger = token_classifier(catalogue_spec("nationaldesignstudio__rampart"), engine_cache)
    with pytest.raises(Exception, match="and at most about") as too_long:
        tagger.extract([ExtractInput("word " * 30_000)])
    assert getattr(too_long.value, "code", None) == "INPUT_TOO_LONG"
    with pytest.raises(Exception, match=r"label 'DRAGON' is not one that this model knows; it knows .*SURNAME"):
        tagger.extract([ExtractInput("abc", ("DRAGON",))])


def test_every_weight_of_rampart_is_read_by_its_published_name() -> None:
    spec = catalogue_spec("nationaldesignstudio__rampart")
    cache = Path("~/.cache/sie").expanduser()
    folder = resolve_checkpoint(spec, cache, lambda _: None, offline=False).folder
    weights = read_onnx(folder / "onnx/model_q4.onnx")
    assert len(weights) == 6 * 16 + 3 + 2 + 2
    assert all(name.startswith(("bert.", "classifier.")) for name in weights)
    assert (folder / "LICENSE").is_file()


def test_late_interaction_over_minilm_ranks_what_answers_first(engine_cache: str) -> None:
    scorer = late_interaction(engine_cache)
    texts = (
        "The Eiffel Tower is in Paris.",
        "Berlin has a population of 3.7 million people.",
        "How to bake bread at home.",
    )
    question = "How many people live in Berlin?"
    row, _ = scorer.score([ScoreInput(question, texts), ScoreInput("bread", texts)]).rows
    assert int(row.scores.argmax()) == 1
    for index, text in enumerate(texts):
        (alone,) = scorer.score([ScoreInput(question, (text,))]).rows
        assert np.abs(alone.scores[0] - row.scores[index]) <= 1e-5


def test_token_vectors_are_of_unit_length_and_the_same_alone_and_in_a_batch(engine_cache: str) -> None:
    scorer = late_interaction(engine_cache)
    rows = scorer.encode([EncodeInput(text) for text in TEXTS["splade"]]).rows
    for text, row in zip(TEXTS["splade"], rows, strict=True):
        (alone,) = scorer.encode([EncodeInput(text)]).rows
        assert row.multivector is not None
        assert alone.multivector is not None
        assert row.multivector.shape == (row.tokens, 384)
        assert np.abs(np.linalg.norm(row.multivector, axis=1) - 1).max() <= 1e-5
        assert np.abs(alone.multivector - row.multivector).max() <= 1e-6


def cross_encoder(cache_dir: str, **runtime: object) -> "CrossEncoder":
    from sie.adapters.tasks.cross_encoder import CrossEncoder  # noqa: PLC0415 - imports JAX

    spec = attrs.evolve(spec_for(GOLDEN / "cross_encoder", runtime=runtime), max_sequence_length=48)
    return CrossEncoder.load(spec, cache_dir=cache_dir, report=lambda _: None)


def sparse_encoder(spec: ModelSpec, cache_dir: str) -> "SparseEncoder":
    from sie.adapters.tasks.sparse import SparseEncoder  # noqa: PLC0415 - imports JAX

    return SparseEncoder.load(spec, cache_dir=cache_dir, report=lambda _: None)


def token_classifier(spec: ModelSpec, cache_dir: str) -> "TokenClassifier":
    from sie.adapters.tasks.tokens import TokenClassifier  # noqa: PLC0415 - imports JAX

    return TokenClassifier.load(spec, cache_dir=cache_dir, report=lambda _: None)


def late_interaction(cache_dir: str) -> "LateInteraction":
    from sie.adapters.tasks.multivector import LateInteraction  # noqa: PLC0415 - imports JAX

    spec = catalogue_spec("sie__minilm-late-interaction")
    return LateInteraction.load(spec, cache_dir=cache_dir, report=lambda _: None)


def likelihoods_of(tagger: "TokenClassifier", texts: Sequence[str]) -> list[Floats]:
    """Of all tokens, the special ones too."""
    return tagger.infer([sequence for text in tagger.read(texts) for sequence in text.sequences])


def softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float32)
