"""The tensors of a checkpoint folder, in one file or several under an index, with every name accounted for.

A weight that the network lacks, or one that the checkpoint lacks, is a LoadFailed(CONFIG) that lists them: half a
checkpoint would load without a sound and answer nonsense. No pickle is read; it can run code.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from sie.adapters.api import LoadFailed
from sie.adapters.onnx import read_onnx
from sie.adapters.sources.files import tensor_files

_LISTED = 8  # names in a message before it says how many more


def read_tensors(
    folder: Path,
    shapes: Mapping[str, tuple[int, ...]],
    *,
    canonical: Callable[[str], str],
    unused: frozenset[str],
) -> dict[str, NDArray[np.float32]]:
    """The tensors of `shapes` as float32. `canonical` turns a name in the file into one of `shapes` or `unused`."""
    tensors: dict[str, NDArray[np.float32]] = {}
    unknown: list[str] = []
    for published, read in chain.from_iterable(map(_tensors_in, tensor_files(folder))):
        name = canonical(published)
        if name in shapes:
            tensors[name] = read()
        elif name not in unused:
            unknown.append(published)
    _account(folder, shapes, tensors, unknown)
    return tensors


def _tensors_in(path: Path) -> Iterator[tuple[str, Callable[[], NDArray[np.float32]]]]:
    """Their published names, each with how to read it while the file is open. Raises LoadFailed."""
    if path.suffix == ".onnx":
        for name, tensor in read_onnx(path).items():
            yield name, partial(np.asarray, tensor)
        return
    try:
        with safe_open(path, framework="np") as file:
            for name in file.keys():  # noqa: SIM118 - not a mapping
                yield name, partial(_read, file, name)
    except (SafetensorError, OSError) as error:
        raise LoadFailed(f"{path} cannot be read: {error}", error_class="STORAGE", permanent=False) from error


def _read(file: safe_open, name: str) -> NDArray[np.float32]:
    return np.asarray(file.get_tensor(name), dtype=np.float32)  # type: ignore[no-untyped-call]  # safetensors leaves it


def _account(
    folder: Path,
    shapes: Mapping[str, tuple[int, ...]],
    tensors: Mapping[str, NDArray[np.float32]],
    unknown: Sequence[str],
) -> None:
    missing = [name for name in shapes if name not in tensors]
    misshapen = [
        f"{name} is {tensors[name].shape}, not {shape}"
        for name, shape in shapes.items()
        if name in tensors and tensors[name].shape != shape
    ]
    found = (("missing", missing), ("unknown", unknown), ("of another shape", misshapen))
    if faults := [f"{len(names)} {fault}: {_some(names)}" for fault, names in found if names]:
        raise _misfit(f"the weights in {folder} do not fit the network of its config.json; {'; '.join(faults)}")


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return ", ".join(listed[:_LISTED]) + more


def _misfit(message: str) -> LoadFailed:
    return LoadFailed(message, error_class="CONFIG", permanent=True)
