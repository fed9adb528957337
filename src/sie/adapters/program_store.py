"""Compiled programs on disk, whole: a warm start neither traces the network nor imports the library it is written in.

One file a model and set of buckets. Its name is a digest of all that went into it (our own code among it), so a file
is never stale, only unused. It holds native code, as any such cache does: whoever can write the folder runs in us.
"""

import hashlib
import logging
import os
import pickle
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import jax
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.stages import Compiled
from jaxlib.version import __version__ as jaxlib_version

from sie.adapters.compile import machine, warm_up
from sie.adapters.packing import Bucket
from sie.adapters.stages import Layout, Program, Programs, Weights
from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, WireError, structure

log = logging.getLogger(__name__)

_THREADS = 2
_DIGEST_BYTES = 32
_KEPT_UNUSED_S = 30 * 24 * 3600


@attrs.frozen
class Stored:
    layout: Layout
    programs: Programs


@attrs.frozen
class _Row:
    rows: int
    length: int
    enter: bytes
    layer: bytes
    leave: bytes


@attrs.frozen
class _File:
    enter: tuple[tuple[str, tuple[int, ...]], ...]
    layers: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]
    leave: tuple[tuple[str, tuple[int, ...]], ...]
    programs: tuple[_Row, ...]


@attrs.frozen
class ProgramStore:
    path: Path

    @classmethod
    def of(cls, cache_dir: Path, made_from: Iterable[bytes]) -> "ProgramStore":
        """`made_from`: what the programs depend on beside the code, the machine and the versions found here."""
        digest = hashlib.sha256()
        flags = os.environ.get("XLA_FLAGS", "").encode()
        device = str([device.device_kind for device in jax.devices()]).encode()
        versions = f"{jax.__version__} {jaxlib_version}".encode()
        for part in (versions, device, flags, *_sources(), *made_from):
            digest.update(hashlib.sha256(part).digest())
        return cls(cache_dir / f"programs-{machine()}" / digest.hexdigest())

    def load(self) -> Stored | None:
        """None where there is nothing, or nothing usable: then the caller compiles, and `save` puts it right."""
        try:
            body = _checked(self.path.read_bytes())
            os.utime(self.path)
            return _restored(structure(TOLERANT, unpack(body), _File))
        except FileNotFoundError:
            return None
        except (OSError, WireError, pickle.UnpicklingError, EOFError, jax.errors.JaxRuntimeError) as error:
            log.warning("stored programs cannot be used", extra={"file": str(self.path), "error": str(error)})
            return None

    def save(self, stored: Stored, weights: Weights) -> None:
        """Whole or not at all, also beside another process that does the same. A full disk costs the next start."""
        made = _file_of(stored)
        if not _runs(made, weights):
            return
        body = pack(TOLERANT.unstructure(made))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                file.write(hashlib.sha256(body).digest() + body)
            os.replace(file.name, self.path)
            _drop_unused(self.path.parent)
        except OSError as error:
            log.warning("programs cannot be stored", extra={"file": str(self.path), "error": str(error)})


def _runs(file: _File, weights: Weights) -> bool:
    """An executable that cannot be serialized shows that only when it runs: better now than at the next start."""
    try:
        warm_up(_restored(file).programs, weights)
    except jax.errors.JaxRuntimeError as error:
        log.warning("programs cannot be stored", extra={"error": str(error)})
        return False
    return True


def _drop_unused(folder: Path) -> None:
    """Another version of the code leaves its files behind; `load` marks those that are still in use."""
    oldest = time.time() - _KEPT_UNUSED_S
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def _sources() -> Iterable[bytes]:
    folder = Path(__file__).parent
    return (path.read_bytes() for path in sorted(folder.rglob("*.py")))


def _checked(data: bytes) -> bytes:
    body = data[_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != data[:_DIGEST_BYTES]:
        raise WireError.at(message="the file is damaged")
    return body


def _file_of(stored: Stored) -> _File:
    rows = (
        _Row(bucket.rows, bucket.length, *(serialize(stage)[0] for stage in (p.enter, p.layer, p.leave)))
        for bucket, p in stored.programs.items()
    )
    layers = tuple(tuple(layer.items()) for layer in stored.layout.layers)
    layout = stored.layout
    return _File(tuple(layout.enter.items()), layers, tuple(layout.leave.items()), tuple(rows))


def _restored(file: _File) -> Stored:
    layout = Layout(dict(file.enter), tuple(map(dict, file.layers)), dict(file.leave))
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="restore") as pool:
        programs = pool.map(lambda row: _program(row, layout), file.programs)
        return Stored(layout, {Bucket(r.rows, r.length): p for r, p in zip(file.programs, programs, strict=True)})


def _program(row: _Row, layout: Layout) -> Program:
    enter, layer, leave = ([0] * len(part) for part in (layout.enter, layout.layers[0], layout.leave))
    return Program(
        enter=_executable(row.enter, takes=(enter, 0), gives=(0, 0)),
        layer=_executable(row.layer, takes=(layer, 0, 0), gives=0),
        leave=_executable(row.leave, takes=(leave, 0, 0), gives=0),
    )


def _executable(data: bytes, *, takes: tuple[int | Sequence[int], ...], gives: int | tuple[int, ...]) -> Compiled:
    """`takes` and `gives` have the shape of the arguments and of the answer, with a 0 for each array."""
    keywords: Mapping[str, int] = {}
    compiled: Compiled = deserialize_and_load(data, jax.tree.structure((takes, keywords)), jax.tree.structure(gives))
    return compiled
