"""A tiny random BERT through the whole path: tokenizer, packing, network, pooling."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from sie.adapters.api import EncodeInput, LoadFailed, Progress
from sie.adapters.matryoshka import Resizable, Sizes
from tests.adapters.checkpoints import TINY, Tensors, dense_of, spec_for, tiny_tensors, write_checkpoint, write_shards

if TYPE_CHECKING:
    from sie.adapters.tasks.dense import DenseEncoder

    Dense = type[DenseEncoder]

pytestmark = pytest.mark.engine

TEXTS = ("abc", "", "hello world", "z" * 200, "abc", "  \n", "qwertyuiop asdf", "ab" * 6)


class Loader:
    """Loads a folder with options and encodes texts."""

    def __init__(self, dense: "Dense", cache_dir: str) -> None:
        self.dense = dense
        self.cache_dir = cache_dir

    def load(self, folder: Path, **runtime: object) -> "DenseEncoder":
        return self.dense.load(spec_for(folder, runtime=runtime), cache_dir=self.cache_dir, report=lambda _: None)

    def vectors(self, folder: Path, *texts: str, **runtime: object) -> NDArray[np.float32]:
        rows = self.load(folder, **runtime).encode([EncodeInput(text) for text in texts]).rows
        return np.stack([dense_of(row) for row in rows])


@pytest.fixture
def loader(dense: "Dense", engine_cache: str) -> Loader:
    return Loader(dense, engine_cache)


def test_the_rows_come_in_the_order_of_the_inputs_whatever_shares_a_row(loader: Loader, tiny: Path) -> None:
    encoder = loader.load(tiny)
    together = encoder.encode([EncodeInput(text) for text in TEXTS])
    for text, row in zip(TEXTS, together.rows, strict=True):
        (alone,) = encoder.encode([EncodeInput(text)]).rows
        assert np.abs(dense_of(row) - dense_of(alone)).max() <= 1e-6
        assert row.tokens == alone.tokens


def test_tokens_count_the_special_ones_and_stop_at_the_maximum_length(loader: Loader, tiny: Path) -> None:
    encoded = loader.load(tiny).encode([EncodeInput(text) for text in ("", "abc", "z" * 200)])
    assert [row.tokens for row in encoded.rows] == [2, 5, 30]


def test_no_inputs_have_no_rows(loader: Loader, tiny: Path) -> None:
    assert loader.load(tiny).encode([]).rows == ()


def test_an_instruction_is_put_before_the_text_as_it_is(loader: Loader, tiny: Path) -> None:
    encoder = loader.load(tiny)
    instructed, written_out = encoder.encode([EncodeInput("cd", instruction="ab"), EncodeInput("abcd")]).rows
    assert np.abs(dense_of(instructed) - dense_of(written_out)).max() <= 1e-6


def test_vectors_are_of_unit_length_unless_normalize_is_false(loader: Loader, tiny: Path) -> None:
    unit, raw = loader.vectors(tiny, "abc"), loader.vectors(tiny, "abc", normalize=False)
    assert np.linalg.norm(unit) == pytest.approx(1, abs=1e-6)
    assert np.abs(raw / np.linalg.norm(raw) - unit).max() <= 1e-6
    assert np.linalg.norm(raw) != pytest.approx(1, abs=1e-2)


def test_cls_pooling_takes_another_vector_than_mean_pooling(loader: Loader, tiny: Path) -> None:
    mean, cls = loader.vectors(tiny, "abc", "ab"), loader.vectors(tiny, "abc", "ab", pooling="cls")
    assert np.abs(mean - cls).max() > 1e-3


def test_a_sharded_checkpoint_gives_the_same_vectors(loader: Loader, tiny: Path, tmp_path: Path) -> None:
    sharded = write_shards(tmp_path / "sharded", tiny_tensors())
    assert np.array_equal(loader.vectors(sharded, *TEXTS), loader.vectors(tiny, *TEXTS))


def renamed(tensors: Tensors) -> Tensors:
    """As the oldest checkpoints with a head are: a prefix, gamma and beta, a pooler, a buffer of positions."""
    gamma = {name.replace("LayerNorm.weight", "LayerNorm.gamma"): tensor for name, tensor in tensors.items()}
    old = {f"bert.{name.replace('LayerNorm.bias', 'LayerNorm.beta')}": tensor for name, tensor in gamma.items()}
    extras = {
        "bert.pooler.dense.weight": (32, 32),
        "bert.pooler.dense.bias": (32,),
        "embeddings.position_ids": (1, 32),
    }
    return {**old, **{name: np.zeros(shape, np.float32) for name, shape in extras.items()}}


def test_old_names_the_bert_prefix_and_the_pooler_are_understood(loader: Loader, tiny: Path, tmp_path: Path) -> None:
    old = write_checkpoint(tmp_path / "old", renamed(tiny_tensors()))
    assert np.array_equal(loader.vectors(old, *TEXTS), loader.vectors(tiny, *TEXTS))


def test_a_weight_that_is_not_finite_is_an_error_and_never_an_answer(loader: Loader, tmp_path: Path) -> None:
    tensors = tiny_tensors()
    tensors["embeddings.word_embeddings.weight"][4] = np.nan  # the letter a
    encoder = loader.load(write_checkpoint(tmp_path / "broken", tensors))
    with pytest.raises(Exception, match="input 0, or a text that shares its row, has an answer that is not finite"):
        encoder.encode([EncodeInput("bcd"), EncodeInput("abc")])
    (unharmed,) = encoder.encode([EncodeInput("bcd")]).rows
    assert np.isfinite(dense_of(unharmed)).all()


def test_a_checkpoint_that_does_not_fit_is_refused(loader: Loader, tmp_path: Path) -> None:
    tensors = tiny_tensors() | {"classifier.weight": np.zeros((2, 32), np.float32)}
    del tensors["encoder.layer.1.output.dense.bias"]
    with pytest.raises(LoadFailed, match=r"1 missing: encoder\.layer\.1\.output\.dense\.bias; 1 unknown: classifier"):
        loader.load(write_checkpoint(tmp_path / "misfit", tensors))


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(loader: Loader, tmp_path: Path) -> None:
    small = write_checkpoint(tmp_path / "small", config={**TINY, "vocab_size": 20})
    with pytest.raises(LoadFailed, match="the tokenizer knows 30 tokens, the model only 20"):
        loader.load(small)


@pytest.mark.parametrize("runtime", [{"pooling": "max"}, {"normalize": "yes"}])
def test_options_that_are_not_implemented_are_refused(loader: Loader, tiny: Path, runtime: dict[str, object]) -> None:
    with pytest.raises(LoadFailed, match=r"runtime\.") as refused:
        loader.load(tiny, **runtime)
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)


def test_a_length_over_the_position_table_is_refused(loader: Loader, tmp_path: Path) -> None:
    short = write_checkpoint(tmp_path / "short", config={**TINY, "max_position_embeddings": 16})
    with pytest.raises(LoadFailed, match="max_sequence_length 30 is over the model's 16 positions"):
        loader.load(short)


def test_a_cold_load_tells_each_bucket_and_a_warm_one_runs_the_same_programs(
    dense: "Dense", tiny: Path, tmp_path: Path
) -> None:
    cold, warm = _Reported(dense, tiny, tmp_path / "cache"), _Reported(dense, tiny, tmp_path / "cache")
    first, second = cold.load(), warm.load()
    total = cold.reports[-1].total
    assert cold.reports == [Progress("loading"), *(Progress("compiling", done, total) for done in range(total + 1))]
    assert warm.reports == [Progress("loading")]
    second.warm_up()
    assert np.array_equal(_vectors(first), _vectors(second))


@pytest.mark.parametrize("damage", [b"", b"x" * 200], ids=["emptied", "overwritten"])
def test_damaged_programs_are_compiled_anew(
    dense: "Dense", tiny: Path, tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    before = _vectors(_Reported(dense, tiny, tmp_path).load())
    (stored,) = [path for folder in tmp_path.glob("programs-*") for path in folder.iterdir()]
    stored.write_bytes(damage)
    again = _Reported(dense, tiny, tmp_path)
    assert np.array_equal(_vectors(again.load()), before)
    assert again.reports[-1].phase == "compiling"
    assert "stored programs cannot be used" in caplog.text
    assert len(stored.read_bytes()) > len(damage)


def test_programs_unused_for_long_are_dropped_when_others_are_stored(
    dense: "Dense", tiny: Path, tmp_path: Path
) -> None:
    _Reported(dense, tiny, tmp_path).load()
    (stored,) = [path for folder in tmp_path.glob("programs-*") for path in folder.iterdir()]
    os.utime(stored, (0, 0))
    _Reported(dense, tiny, tmp_path).load(normalize=False)
    (kept,) = stored.parent.iterdir()
    assert kept != stored


class _Reported:
    """One load, with what it told."""

    def __init__(self, dense: "Dense", folder: Path, cache_dir: Path) -> None:
        self.dense, self.folder, self.cache_dir = dense, folder, cache_dir
        self.reports: list[Progress] = []

    def load(self, **runtime: object) -> "DenseEncoder":
        spec = spec_for(self.folder, runtime=runtime)
        return self.dense.load(spec, cache_dir=str(self.cache_dir), report=self.reports.append)


def _vectors(encoder: "DenseEncoder") -> NDArray[np.float32]:
    return np.stack([dense_of(row) for row in encoder.encode([EncodeInput(text) for text in TEXTS]).rows])


def test_without_a_pooling_in_the_profile_it_is_the_checkpoints_own(loader: Loader, tiny: Path, tmp_path: Path) -> None:
    cls = write_checkpoint(tmp_path / "cls")
    (cls / "1_Pooling").mkdir()
    (cls / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
    assert np.array_equal(loader.vectors(cls, "abc"), loader.vectors(tiny, "abc", pooling="cls"))
    assert np.array_equal(loader.vectors(cls, "abc", pooling="mean"), loader.vectors(tiny, "abc"))


def test_a_profile_names_the_smaller_sizes_of_its_vectors(loader: Loader, tiny: Path) -> None:
    encoder = loader.load(tiny, matryoshka_dimensions=[8, 16, 32])
    assert isinstance(encoder, Resizable)
    assert encoder.dense_sizes == Sizes(32, (8, 16))
    assert loader.load(tiny, normalize=False).dense_sizes == Sizes(32, (), normalize=False)
    with pytest.raises(LoadFailed, match="must be a list of sizes from 1 to 32"):
        loader.load(tiny, matryoshka_dimensions=[64])
