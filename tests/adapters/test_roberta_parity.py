"""Each task on RoBERTa and XLM-RoBERTa against what transformers answers for tiny seeded ones (spec/golden/roberta)."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from sie.adapters.api import EncodeInput, LoadFailed, ModelSpec, ScoreInput
from tests.adapters.checkpoints import dense_of, spec_for

if TYPE_CHECKING:
    from sie.adapters.tasks.cross_encoder import CrossEncoder
    from sie.adapters.tasks.dense import DenseEncoder

    Dense = type[DenseEncoder]

pytestmark = pytest.mark.engine

GOLDEN = Path(__file__).parents[2] / "spec/golden/roberta"
TEXTS = json.loads((GOLDEN / "texts.json").read_bytes())
WORDS: Sequence[str] = TEXTS["words"]
Floats = NDArray[np.float32]


def golden(name: str) -> Floats:
    return np.asarray(np.load(GOLDEN / name, allow_pickle=False), np.float32)


def spec_of(folder: Path, **runtime: object) -> ModelSpec:
    """As long as its positions allow."""
    return attrs.evolve(spec_for(folder, runtime=runtime), max_sequence_length=None)


def vectors(dense: "Dense", folder: Path, cache_dir: str, **runtime: object) -> Floats:
    encoder = dense.load(spec_of(folder, **runtime), cache_dir=cache_dir, report=lambda _: None)
    return np.stack([dense_of(row) for row in encoder.encode([EncodeInput(word) for word in WORDS]).rows])


def cross_encoder(folder: Path, cache_dir: str, **runtime: object) -> "CrossEncoder":
    from sie.adapters.tasks.cross_encoder import CrossEncoder  # noqa: PLC0415 - imports JAX

    return CrossEncoder.load(spec_of(folder, **runtime), cache_dir=cache_dir, report=lambda _: None)


def changed(name: str, folder: Path, *, prefix: str = "", more: Mapping[str, Floats] | None = None) -> Path:
    """A golden checkpoint with each of its names behind `prefix`, and further tensors."""
    shutil.copytree(GOLDEN / name, folder)
    tensors = {prefix + key: tensor for key, tensor in load_file(folder / "model.safetensors").items()}
    save_file({**tensors, **(more or {})}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_robertas_vectors_are_the_references(dense: "Dense", engine_cache: str, pooling: str) -> None:
    found = vectors(dense, GOLDEN / "encoder", engine_cache, pooling=pooling)
    assert np.abs(found - golden(f"encoder/{pooling}.npy")).max() <= 1e-5


def test_the_prefix_of_a_checkpoint_with_a_head_changes_nothing(
    dense: "Dense", engine_cache: str, tmp_path: Path
) -> None:
    prefixed = changed("encoder", tmp_path / "prefixed", prefix="roberta.")
    assert np.array_equal(vectors(dense, prefixed, engine_cache), vectors(dense, GOLDEN / "encoder", engine_cache))


def test_a_text_alone_has_the_vector_that_it_has_in_a_batch(dense: "Dense", engine_cache: str) -> None:
    encoder = dense.load(spec_of(GOLDEN / "encoder"), cache_dir=engine_cache, report=lambda _: None)
    together = encoder.encode([EncodeInput(word) for word in WORDS]).rows
    for word, row in zip(WORDS, together, strict=True):
        (alone,) = encoder.encode([EncodeInput(word)]).rows
        assert np.abs(dense_of(alone) - dense_of(row)).max() <= 1e-6


def test_a_text_is_cut_where_the_positions_end(dense: "Dense", engine_cache: str) -> None:
    encoder = dense.load(spec_of(GOLDEN / "encoder"), cache_dir=engine_cache, report=lambda _: None)
    (row,) = encoder.encode([EncodeInput("z" * 200)]).rows
    assert row.tokens == 48  # of a table of 50, whose first two are of padding
    too_long = attrs.evolve(spec_of(GOLDEN / "encoder"), max_sequence_length=49)
    with pytest.raises(LoadFailed, match="max_sequence_length 49 is over the model's 48 positions"):
        dense.load(too_long, cache_dir=engine_cache, report=lambda _: None)


def test_a_weight_that_no_head_takes_is_refused_by_name(dense: "Dense", engine_cache: str, tmp_path: Path) -> None:
    other = changed("encoder", tmp_path / "other", more={"lm_head.bias": np.zeros(288, np.float32)})
    with pytest.raises(LoadFailed, match=r"1 unknown: lm_head\.bias"):
        vectors(dense, other, engine_cache)
    with pytest.raises(LoadFailed, match=r"unknown: .*classifier\.out_proj\.weight"):
        vectors(dense, GOLDEN / "cross_encoder", engine_cache)


def test_an_xlm_robertas_scores_are_the_references(engine_cache: str) -> None:
    wanted = golden("cross_encoder/logits.npy").reshape(3, -1)
    queries = list(dict.fromkeys(query for query, _ in TEXTS["pairs"]))
    inputs = [ScoreInput(query, tuple(WORDS)) for query in queries]
    rows = cross_encoder(GOLDEN / "cross_encoder", engine_cache, activation="none").score(inputs).rows
    assert np.abs(np.stack([row.scores for row in rows]) - wanted).max() <= 1e-5
    squeezed = cross_encoder(GOLDEN / "cross_encoder", engine_cache).score(inputs).rows
    assert np.abs(np.stack([row.scores for row in squeezed]) - 1 / (1 + np.exp(-wanted))).max() <= 1e-5


def test_sparse_activations_are_the_references(engine_cache: str) -> None:
    from sie.adapters.tasks.sparse import SparseEncoder  # noqa: PLC0415 - imports JAX

    encoder = SparseEncoder.load(spec_of(GOLDEN / "masked_lm"), cache_dir=engine_cache, report=lambda _: None)
    wanted = golden("masked_lm/activations.npy")
    for row, activations in zip(encoder.encode([EncodeInput(word) for word in WORDS]).rows, wanted, strict=True):
        assert row.sparse is not None
        found = np.zeros_like(activations)
        found[row.sparse.indices] = row.sparse.values
        assert np.abs(found - activations).max() <= 1e-5


def test_a_token_classifiers_likelihoods_are_the_references(engine_cache: str) -> None:
    from sie.adapters.tasks.tokens import TokenClassifier  # noqa: PLC0415 - imports JAX

    tagger = TokenClassifier.load(spec_of(GOLDEN / "token_classifier"), cache_dir=engine_cache, report=lambda _: None)
    found = np.concatenate(tagger.infer([sequence for text in tagger.read(WORDS) for sequence in text.sequences]))
    likelihoods = np.exp(golden("token_classifier/logits.npy"))
    assert np.abs(found - likelihoods / likelihoods.sum(axis=1, keepdims=True)).max() <= 1e-5
