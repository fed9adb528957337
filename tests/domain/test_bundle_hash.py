"""The golden vectors of wire-facts 3.7 that hold in the reference's form, for the code and for its second copy."""

from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
import yaml

from sie.domain.bundle_hash import bundles_hash
from sie.domain.ids import BundleName, PoolName
from sie.domain.registry import RegistrySnapshot
from sie.wire.converters import EXACT, structure
from sie.wire.documents import as_json, model_of, parse_bundle
from tests.domain.second_hash import Document, second_bundle_hash


@attrs.frozen
class Catalog:
    bundles: tuple[str, ...]
    models: tuple[str, ...]


@attrs.frozen
class Fingerprint:
    catalog: str
    of: str
    value: str


@attrs.frozen
class BundleVector:
    catalog: str
    bundle: str
    value: str
    pool: str | None = None


@attrs.frozen
class Vectors:
    bundles: Mapping[str, object]
    models: Mapping[str, object]
    catalogs: Mapping[str, Catalog]
    fingerprints: tuple[Fingerprint, ...]
    bundle_hashes: tuple[BundleVector, ...]

    def snapshot(self, catalog: str) -> RegistrySnapshot:
        given = self.catalogs[catalog]
        bundles = [parse_bundle(yaml.safe_dump(self.bundles[key]), stem=key) for key in given.bundles]
        return RegistrySnapshot.of(bundles, [model_of(self.models[key]) for key in given.models])


def document(value: object) -> Document:
    found = as_json(value)
    assert isinstance(found, Mapping)
    return found


VECTORS = structure(EXACT, yaml.safe_load(Path(__file__).with_name("hash_vectors.yaml").read_text()), Vectors)


@pytest.mark.parametrize("vector", VECTORS.fingerprints, ids=lambda v: f"{v.catalog}-{v.of}")
def test_a_fingerprint_is_the_published_one(vector: Fingerprint) -> None:
    assert getattr(VECTORS.snapshot(vector.catalog), vector.of) == vector.value


@pytest.mark.parametrize("vector", VECTORS.bundle_hashes, ids=lambda v: f"{v.catalog}-{v.bundle}-{v.pool or 'all'}")
def test_a_bundle_hash_is_the_published_one(vector: BundleVector) -> None:
    snapshot = VECTORS.snapshot(vector.catalog)
    bundle = BundleName(vector.bundle)
    found = snapshot.scoped_hash(bundle, PoolName(vector.pool)) if vector.pool else snapshot.hashes[bundle]
    assert (found or "") == vector.value


@pytest.mark.parametrize("vector", VECTORS.bundle_hashes, ids=lambda v: f"{v.catalog}-{v.bundle}-{v.pool or 'all'}")
def test_the_second_implementation_agrees_with_the_published_one(vector: BundleVector) -> None:
    given = VECTORS.catalogs[vector.catalog]
    bundles = [document(VECTORS.bundles[key]) for key in given.bundles]
    bundle = next(bundle for bundle in bundles if bundle["name"] == vector.bundle)
    models = [document(VECTORS.models[key]) for key in given.models]
    assert second_bundle_hash(bundle, models, vector.pool) == vector.value


def test_no_bundles_have_no_fingerprint() -> None:
    assert bundles_hash([]) is None
    assert RegistrySnapshot.empty().bundle_config_hashes_hash is None
