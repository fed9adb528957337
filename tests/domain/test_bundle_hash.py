"""The golden vectors of spec/golden/hashes.yaml in both forms, for the code and for its second copy (§7)."""

from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from sie.domain.bundle_hash import bundles_hash
from sie.domain.hash_form import HashForm
from sie.domain.ids import BundleName, PoolName
from sie.domain.model import Json
from sie.domain.registry import RegistrySnapshot
from sie.wire.converters import EXACT, structure
from sie.wire.documents import as_json, load_yaml, model_of, parse_bundle
from sie.wire.yaml_text import dump_yaml
from tests.domain.second_hash import Document, second_bundle_hash, second_bundles_hash, second_hashes_hash

GOLDEN = Path(__file__).parents[2] / "spec" / "golden" / "hashes.yaml"


@attrs.frozen
class Catalog:
    bundles: tuple[str, ...]
    models: tuple[str, ...]


@attrs.frozen
class Vector:
    """One quantity of one catalog: a fingerprint (`of`), or the hash of a bundle, or of a pool in it."""

    catalog: str
    values: Mapping[HashForm, str]
    of: str | None = None
    bundle: str | None = None
    pool: str | None = None

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.catalog, self.of, self.bundle, self.pool)))


@attrs.frozen
class Vectors:
    bundles: Mapping[str, object]
    models: Mapping[str, object]
    catalogs: Mapping[str, Catalog]

    def snapshot(self, catalog: str, form: HashForm) -> RegistrySnapshot:
        given = self.catalogs[catalog]
        bundles = [parse_bundle(dump_yaml(document(self.bundles[key])), stem=key) for key in given.bundles]
        return RegistrySnapshot.of(bundles, [model_of(self.models[key]) for key in given.models], form)


def document(value: object) -> Document:
    found = as_json(value)
    assert isinstance(found, Mapping)
    return found


def vector(value: Json) -> Vector:
    row = {key: str(text) for key, text in document(value).items()}
    values = {form: row.pop(form) for form in HashForm}
    return Vector(row.pop("catalog"), values, **row)


def read() -> tuple[Vectors, list[Vector]]:
    told = document(load_yaml(GOLDEN.read_text(encoding="utf-8")))
    rows = (told["fingerprints"], told["bundle_hashes"])
    given = {key: value for key, value in told.items() if key in ("bundles", "models", "catalogs")}
    return structure(EXACT, given, Vectors), [vector(row) for part in rows if isinstance(part, list) for row in part]


GIVEN, VECTORS = read()
each_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.name)
in_each_form = pytest.mark.parametrize("form", HashForm)


def test_every_published_vector_is_there() -> None:
    published = {*(f"V{n}" for n in range(1, 8)), *(f"H{n}" for n in (1, 4, 5, 6, 7, 8, 9, 10)), "E1"}
    assert {vector.catalog.partition("-")[0] for vector in VECTORS} == published


@in_each_form
@each_vector
def test_a_snapshot_has_the_golden_hash(vector: Vector, form: HashForm) -> None:
    snapshot = GIVEN.snapshot(vector.catalog, form)
    if vector.of is not None:
        found = getattr(snapshot, vector.of)
    elif vector.pool is not None:
        found = snapshot.scoped_hash(BundleName(str(vector.bundle)), PoolName(vector.pool))
    else:
        found = snapshot.hashes[BundleName(str(vector.bundle))]
    assert (found or "") == vector.values[form]


@in_each_form
@each_vector
def test_the_second_implementation_has_the_golden_hash(vector: Vector, form: HashForm) -> None:
    given, compact = GIVEN.catalogs[vector.catalog], form is HashForm.SIE_0_10
    bundles = [document(GIVEN.bundles[key]) for key in given.bundles]
    models = [document(GIVEN.models[key]) for key in given.models]
    if vector.of == "bundles_hash":
        found = second_bundles_hash(bundles)
    elif vector.of is not None:
        found = second_hashes_hash(bundles, models, compact=compact)
    else:
        bundle = next(bundle for bundle in bundles if bundle["name"] == vector.bundle)
        found = second_bundle_hash(bundle, models, vector.pool, compact=compact)
    assert found == vector.values[form]


def test_no_bundles_have_no_fingerprint() -> None:
    assert bundles_hash([]) is None
    assert RegistrySnapshot.empty().bundle_config_hashes_hash is None
