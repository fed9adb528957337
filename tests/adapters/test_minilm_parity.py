"""Vectors of the published all-MiniLM-L6-v2 against those that sentence-transformers makes (spec/golden/minilm)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from sie.adapters.api import EncodeInput, Encoder, ModelSpec, Progress
from sie.adapters.matryoshka import Sizes
from tests.adapters.checkpoints import dense_of

if TYPE_CHECKING:
    from sie.adapters.tasks.dense import DenseEncoder

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "spec/golden/minilm"
MODEL = ROOT / "bundles/models/sentence-transformers__all-MiniLM-L6-v2.yaml"


def minilm_spec() -> ModelSpec:
    model = yaml.safe_load(MODEL.read_bytes())
    options = model["profiles"]["default"]["adapter_options"]
    return ModelSpec(
        model_id=model["sie_id"],
        hf_id=model["hf_id"],
        hf_revision=model["hf_revision"],
        weights_path=None,
        max_sequence_length=model["max_sequence_length"],
        loadtime=options["loadtime"],
        runtime=options["runtime"],
    )


def vectors_of(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.stack([dense_of(row) for row in encoder.encode([EncodeInput(text) for text in texts]).rows])


@pytest.fixture(scope="module")
def encoder(dense: "type[DenseEncoder]", engine_cache: str) -> "DenseEncoder":
    return dense.load(minilm_spec(), cache_dir=engine_cache, report=lambda _: None)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    loaded = json.loads((GOLDEN / "texts.json").read_bytes())
    assert isinstance(loaded, list)
    return loaded


@pytest.fixture(scope="module")
def golden() -> NDArray[np.float32]:
    vectors = np.load(GOLDEN / "vectors.npy", allow_pickle=False)
    assert vectors.dtype == np.float32
    return np.asarray(vectors, np.float32)


@pytest.fixture(scope="module")
def meta() -> Mapping[str, object]:
    loaded = json.loads((GOLDEN / "meta.json").read_bytes())
    assert isinstance(loaded, dict)
    return loaded


def test_every_golden_vector_is_reproduced(encoder: Encoder, texts: list[str], golden: NDArray[np.float32]) -> None:
    assert np.abs(vectors_of(encoder, texts) - golden).max() <= 2e-6


def test_a_text_has_the_same_vector_alone_and_in_any_batch(encoder: Encoder, texts: list[str]) -> None:
    together = vectors_of(encoder, texts)
    alone = np.concatenate([vectors_of(encoder, [text]) for text in texts])
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = vectors_of(encoder, [texts[i] for i in order])
    assert np.abs(alone - together).max() <= 1e-6
    assert np.abs(shuffled - together[order]).max() <= 1e-6


def test_a_long_text_is_cut_at_256_tokens(encoder: Encoder, meta: Mapping[str, object]) -> None:
    (row,) = encoder.encode([EncodeInput("word " * 600)]).rows
    assert row.tokens == meta["max_seq_length"] == 256


def test_the_golden_vectors_are_of_the_weights_that_the_catalogue_pins(meta: Mapping[str, object]) -> None:
    assert meta["sha256"] == minilm_spec().loadtime["sha256"]


@pytest.mark.parametrize("text", ["\ud83d", "\x00\x01\x1f", "\udfff" * 600, "NaN", "a\u0301" * 400])
def test_any_string_has_a_finite_unit_vector(encoder: Encoder, text: str) -> None:
    (vector,) = vectors_of(encoder, [text])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_warm_load_compiles_nothing(dense: "type[DenseEncoder]", encoder: "DenseEncoder", engine_cache: str) -> None:
    reports: list[Progress] = []
    again = dense.load(minilm_spec(), cache_dir=engine_cache, report=reports.append)
    assert again.dense_sizes == encoder.dense_sizes == Sizes(384)
    assert reports == [Progress("loading")]
