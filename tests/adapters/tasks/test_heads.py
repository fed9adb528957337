"""The heads on a tiny BERT: what each reads of its checkpoint, and what it refuses (§16.1)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sie.adapters.api import EncodeInput, ExtractInput, LoadFailed, ScoreInput
from tests.adapters.checkpoints import TINY, spec_for, tiny_tensors, write_checkpoint

if TYPE_CHECKING:
    from sie.adapters.api import AdapterFactory
    from sie.adapters.tasks.multivector import LateInteraction

pytestmark = pytest.mark.engine

GOLDEN = Path(__file__).parents[3] / "spec/golden/bert_tasks"
TEXTS = ("abc", "", "hello world", "z" * 200, "ab" * 6)


def adapter(name: str) -> "AdapterFactory":
    from sie.adapters.tasks import cross_encoder, multivector, sparse, tokens  # noqa: PLC0415 - brings JAX

    classes: Mapping[str, AdapterFactory] = {
        "multivector": multivector.LateInteraction,
        "sparse": sparse.SparseEncoder,
        "cross_encoder": cross_encoder.CrossEncoder,
        "tokens": tokens.TokenClassifier,
    }
    return classes[name]


def late_interaction(folder: Path, cache_dir: str, **runtime: object) -> "LateInteraction":
    from sie.adapters.tasks.multivector import LateInteraction  # noqa: PLC0415 - brings JAX

    return LateInteraction.load(spec_for(folder, runtime=runtime), cache_dir=cache_dir, report=lambda _: None)


def test_a_projection_narrows_the_vectors_of_tokens(tiny: Path, tmp_path: Path, engine_cache: str) -> None:
    linear = np.random.default_rng(1).normal(size=(8, 32)).astype(np.float32)
    projected = write_checkpoint(tmp_path / "colbert", tiny_tensors() | {"linear.weight": linear})
    states = late_interaction(tiny, engine_cache, normalize=False).encode([EncodeInput(text) for text in TEXTS]).rows
    narrow = late_interaction(projected, engine_cache, token_dims=8).encode([EncodeInput(text) for text in TEXTS]).rows
    for state, row in zip(states, narrow, strict=True):
        assert state.multivector is not None
        assert row.multivector is not None
        wanted = state.multivector @ linear.T
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        assert np.abs(row.multivector - wanted).max() <= 1e-5


def test_templates_and_the_instruction_are_what_the_query_is_read_with(tiny: Path, engine_cache: str) -> None:
    plain = late_interaction(tiny, engine_cache)
    shaped = late_interaction(tiny, engine_cache, query_template="qq{text}", doc_template="dd{text}")
    (wanted,) = plain.score([ScoreInput("qqabc", ("ddhello", "dd"))]).rows
    (found,) = shaped.score([ScoreInput("abc", ("hello", ""))]).rows
    (instructed,) = plain.score([ScoreInput("abc", ("ddhello", "dd"), instruction="qq")]).rows
    assert np.abs(found.scores - wanted.scores).max() <= 1e-5
    assert np.abs(instructed.scores - wanted.scores).max() <= 1e-5
    assert found.tokens == wanted.tokens


@pytest.mark.parametrize(
    ("name", "runtime", "words"),
    [
        ("multivector", {"token_dims": 0}, r"runtime\.token_dims must be a positive integer"),
        ("multivector", {"token_dims": 8}, r"1 missing: linear\.weight"),
        ("multivector", {"output_dtype": "int4"}, r"runtime\.output_dtype must be one of float32"),
        ("multivector", {"query_template": "no place"}, r"runtime\.query_template must have \{text\}"),
        ("sparse", {}, r"5 missing: cls\.predictions"),
        ("cross_encoder", {"activation": "relu"}, r"runtime\.activation must be one of sigmoid, none"),
        ("cross_encoder", {}, "id2label must name the labels"),
        ("tokens", {"threshold": 2}, r"runtime\.threshold must be a number from 0 to 1"),
        ("tokens", {}, "id2label must name the labels"),
    ],
)
def test_a_checkpoint_or_an_option_that_does_not_fit_is_refused_for_good(
    tiny: Path, engine_cache: str, name: str, runtime: Mapping[str, object], words: str
) -> None:
    with pytest.raises(LoadFailed, match=words) as refused:
        adapter(name).load(spec_for(tiny, runtime=runtime), cache_dir=engine_cache, report=lambda _: None)
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)


@pytest.mark.parametrize("labels", [{"0": "O", "2": "B-X"}, {"0": 5}, [], {}], ids=["gap", "number", "list", "none"])
def test_labels_that_are_not_named_in_order_are_refused(tmp_path: Path, engine_cache: str, labels: object) -> None:
    folder = write_checkpoint(tmp_path / "odd", config={**TINY, "id2label": labels})
    with pytest.raises(LoadFailed, match="id2label must"):
        adapter("tokens").load(spec_for(folder), cache_dir=engine_cache, report=lambda _: None)


def test_a_sparse_head_with_words_of_its_own_is_refused(tmp_path: Path, engine_cache: str) -> None:
    folder = write_checkpoint(tmp_path / "untied", config={**TINY, "tie_word_embeddings": False})
    with pytest.raises(LoadFailed, match="tie_word_embeddings must be true"):
        adapter("sparse").load(spec_for(folder), cache_dir=engine_cache, report=lambda _: None)


def test_weights_that_are_not_finite_are_never_an_answer(tmp_path: Path, engine_cache: str) -> None:
    tensors = tiny_tensors()
    tensors["embeddings.word_embeddings.weight"][4] = np.nan  # the letter a
    model = late_interaction(write_checkpoint(tmp_path / "broken", tensors), engine_cache)
    with pytest.raises(Exception, match="has an answer that is not finite"):
        model.score([ScoreInput("bcd", ("abc",))])
    (unharmed,) = model.score([ScoreInput("bcd", ("def",))]).rows
    assert np.isfinite(unharmed.scores).all()


def test_nothing_to_do_gives_nothing(tiny: Path, engine_cache: str) -> None:
    from sie.adapters.tasks.tokens import TokenClassifier  # noqa: PLC0415 - brings JAX

    model = late_interaction(tiny, engine_cache)
    assert model.encode([]).rows == ()
    assert model.score([]).rows == ()
    tagger = TokenClassifier.load(spec_for(GOLDEN / "token_classifier"), cache_dir=engine_cache, report=lambda _: None)
    assert tagger.extract([]).rows == ()
    (empty,) = tagger.extract([ExtractInput("")]).rows
    assert empty.entities == ()
    names = set(json.loads((GOLDEN / "token_classifier/config.json").read_bytes())["id2label"].values())
    assert names == {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
