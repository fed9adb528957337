"""Every tensor of a checkpoint is accounted for."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from sie.adapters.api import LoadFailed
from sie.adapters.checkpoint import read_tensors
from tests.adapters.checkpoints import Tensors

SHAPES = {"a": (2, 3), "b": (4,)}


def read(folder: Path) -> Tensors:
    return read_tensors(folder, SHAPES, canonical=lambda name: name.removeprefix("x."), unused=frozenset({"buffer"}))


def write(folder: Path, **shapes: tuple[int, ...]) -> Path:
    tensors = {name.replace("_", "."): np.ones(shape, np.float16) for name, shape in shapes.items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_half_precision_tensors_are_read_as_float32_under_their_canonical_names(tmp_path: Path) -> None:
    tensors = read(write(tmp_path, x_a=(2, 3), b=(4,), buffer=(1,)))
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()} == {
        name: (shape, np.dtype(np.float32)) for name, shape in SHAPES.items()
    }


@pytest.mark.parametrize(
    ("shapes", "complaint"),
    [
        ({"a": (2, 3)}, "1 missing: b"),
        ({"a": (2, 3), "b": (4,), "c": (1,)}, "1 unknown: c"),
        ({"a": (3, 2), "b": (4,)}, r"1 of another shape: a is \(3, 2\), not \(2, 3\)"),
        ({f"n{i}": (1,) for i in range(10)}, r"2 missing: a, b; 10 unknown: n0, n1, .* and 2 more"),
    ],
)
def test_a_misfit_is_refused_and_lists_the_names(
    tmp_path: Path, shapes: dict[str, tuple[int, ...]], complaint: str
) -> None:
    with pytest.raises(LoadFailed, match=complaint) as refused:
        read(write(tmp_path, **shapes))
    assert refused.value.error_class == "CONFIG"


def test_a_damaged_file_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(LoadFailed, match="cannot be read") as failed:
        read(tmp_path)
    assert (failed.value.error_class, failed.value.permanent) == ("STORAGE", False)


@pytest.mark.parametrize(
    "index",
    ["{", "[]", '{"weight_map": []}', '{"weight_map": {"a": "../a.safetensors"}}', '{"weight_map": {"a": "a.bin"}}'],
)
def test_an_index_of_anything_but_files_beside_it_is_refused(tmp_path: Path, index: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(LoadFailed, match=r"model\.safetensors\.index\.json"):
        read(tmp_path)
