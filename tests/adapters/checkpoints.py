"""A tiny random BERT, written as it would be published; for tests of adapters."""

import json
import string
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from sie.adapters.api import EncodedRow, ModelSpec

Tensors = dict[str, NDArray[np.float32]]
TINY: Mapping[str, object] = {
    "model_type": "bert",
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}


def dense_of(row: EncodedRow) -> NDArray[np.float32]:
    assert row.dense is not None
    return row.dense


def tiny_tensors(seed: int = 0) -> Tensors:
    """Every published weight of TINY, random and small."""
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (64, 32),
        "embeddings.position_embeddings.weight": (32, 32),
        "embeddings.token_type_embeddings.weight": (2, 32),
        **_norm("embeddings.LayerNorm"),
    }
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for name in ("query", "key", "value"):
            shapes |= _dense(f"{layer}.attention.self.{name}", 32, 32)
        shapes |= _dense(f"{layer}.attention.output.dense", 32, 32) | _norm(f"{layer}.attention.output.LayerNorm")
        shapes |= _dense(f"{layer}.intermediate.dense", 64, 32) | _dense(f"{layer}.output.dense", 32, 64)
        shapes |= _norm(f"{layer}.output.LayerNorm")
    return {name: random.normal(size=shape, scale=0.3).astype(np.float32) for name, shape in shapes.items()}


def _dense(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (32,), f"{name}.bias": (32,)}


def write_tokenizer(folder: Path) -> None:
    """One token a letter, lower case, between [CLS] and [SEP]."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *string.ascii_lowercase]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))


def write_checkpoint(folder: Path, tensors: Tensors | None = None, config: Mapping[str, object] = TINY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_tokenizer(folder)
    save_file(tiny_tensors() if tensors is None else tensors, folder / "model.safetensors")
    return folder


def write_shards(folder: Path, tensors: Tensors) -> Path:
    """The same weights in two files and an index."""
    write_checkpoint(folder, tensors)
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, members in shards.items():
        save_file({name: tensors[name] for name in members}, folder / file)
    weight_map = {name: file for file, members in shards.items() for name in members}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


def spec_for(folder: Path | None, **changes: object) -> ModelSpec:
    """A spec of a local folder; `changes` are its loadtime and runtime options by name."""
    loadtime, runtime = changes.get("loadtime", {}), changes.get("runtime", {})
    assert isinstance(loadtime, Mapping)
    assert isinstance(runtime, Mapping)
    return ModelSpec("test/tiny", None, None, str(folder) if folder else None, 30, loadtime, runtime)
