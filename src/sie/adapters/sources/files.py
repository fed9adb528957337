"""What a checkpoint folder must hold, and what a lookup found where. No pickle, which can run code: safetensors, and
quantised ONNX where a model is published in nothing else.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import attrs

from sie.adapters.api import LoadFailed, Report

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
ONNX_FILE = "onnx/model_q4.onnx"
REQUIRED = ("config.json", "tokenizer.json")
POOLING_FILE = "1_Pooling/config.json"
QUERY_WEIGHTS = ("idf.json", "query_token_weights.txt")
OPTIONAL = ("sentence_bert_config.json", POOLING_FILE, *QUERY_WEIGHTS)


@attrs.frozen
class Absent:
    """`place` was looked at and does not hold the checkpoint."""

    place: str
    reason: str


class Source(Protocol):
    """One origin of a checkpoint. `find` touches no network; `fetch` does, and raises LoadFailed."""

    @property
    def remedy(self) -> str:
        """What a person can do to make this source hold the checkpoint."""
        ...

    def find(self) -> Path | Sequence[Absent]: ...

    def fetch(self, report: Report) -> Path: ...


def missing_files(folder: Path) -> Sequence[str]:
    """The names without which the folder is no checkpoint; empty when it is whole."""
    missing = [name for name in REQUIRED if not (folder / name).is_file()]
    if (folder / SINGLE_FILE).is_file():
        return missing
    if not (folder / INDEX_FILE).is_file():
        return missing if (folder / ONNX_FILE).is_file() else [*missing, SINGLE_FILE]
    shards = shard_names((folder / INDEX_FILE).read_bytes())
    return [*missing, *(name for name in shards if not (folder / name).is_file())]


def tensor_files(folder: Path) -> Sequence[Path]:
    """The weights of a whole checkpoint: the single file, else those that the index names, else the quantised one."""
    if (folder / SINGLE_FILE).is_file():
        return [folder / SINGLE_FILE]
    if not (folder / INDEX_FILE).is_file():
        return [folder / ONNX_FILE]
    return [folder / name for name in shard_names((folder / INDEX_FILE).read_bytes())]


def shard_names(index: bytes) -> Sequence[str]:
    """The files that an index names: it maps each tensor to the file, beside the index, that holds it."""
    try:
        names = sorted(set(json.loads(index)["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _refused(f"{INDEX_FILE} is not an index of safetensors files: {error!r}") from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise _refused(f"{INDEX_FILE} names {name!r}, which is not a safetensors file beside it")
    return names


def look_in(folder: Path) -> Path | Absent:
    if not folder.is_dir():
        return Absent(str(folder), "no such folder")
    missing = missing_files(folder)
    return Absent(str(folder), f"lacks {', '.join(missing)}") if missing else folder


def _refused(message: str) -> LoadFailed:
    return LoadFailed(message, error_class="CONFIG", permanent=True)
