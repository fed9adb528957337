"""A quantised checkpoint in a folder: found, its weights read, and refused in words where it is none."""

from pathlib import Path, PurePosixPath

import pytest

from sie.adapters.api import LoadFailed
from sie.adapters.onnx import read_onnx
from sie.adapters.sources.files import look_in, tensor_files
from sie.adapters.sources.package import members_of
from tests.adapters.checkpoints import write_checkpoint


def quantised(folder: Path, data: bytes) -> Path:
    write_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    (folder / "onnx").mkdir()
    (folder / "onnx/model_q4.onnx").write_bytes(data)
    return folder


def test_a_folder_with_quantised_weights_alone_is_a_checkpoint(tmp_path: Path) -> None:
    folder = quantised(tmp_path / "q4", b"")
    assert look_in(folder) == folder
    assert tensor_files(folder) == [folder / "onnx/model_q4.onnx"]


def test_safetensors_come_before_quantised_weights(tmp_path: Path) -> None:
    folder = quantised(tmp_path / "both", b"")
    write_checkpoint(folder)
    assert tensor_files(folder) == [folder / "model.safetensors"]


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"\x3a\x05ab"], ids=["empty", "noise", "cut off"])
def test_a_file_that_is_no_graph_is_refused_for_good(tmp_path: Path, data: bytes) -> None:
    folder = quantised(tmp_path / "broken", data)
    with pytest.raises(LoadFailed, match=r"model_q4\.onnx cannot be used") as refused:
        read_onnx(folder / "onnx/model_q4.onnx")
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)


def test_a_file_that_is_not_there_may_be_there_later(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed) as refused:
        read_onnx(tmp_path / "model_q4.onnx")
    assert (refused.value.error_class, refused.value.permanent) == ("STORAGE", False)


def test_weights_are_unpacked_with_their_licence_and_without_pickles() -> None:
    names = ["m/LICENSE", "m/onnx/model_q4.onnx", "m/heads.pt", "m/config.json", "m/code.py", "LICENSE"]
    assert sorted(map(str, members_of(names, PurePosixPath("m")).values())) == [
        "LICENSE",
        "config.json",
        "onnx/model_q4.onnx",
    ]
