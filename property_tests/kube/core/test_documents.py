"""ConfigMaps and Leases in JSON: nothing is lost on the way through, and nonsense is a WireError."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests.kube.strategies import config_maps, json_documents, leases
from sie.kube.core.documents import CONFIG_MAPS, LEASES, Kind, continue_of, read_listing
from sie.kube.core.values import ConfigMap, Document, Lease
from sie.wire.converters import WireError


@given(config_maps())
def test_a_config_map_comes_back(value: ConfigMap) -> None:
    assert CONFIG_MAPS.read(CONFIG_MAPS.write(value)) == value


@given(leases())
def test_a_lease_comes_back(value: Lease) -> None:
    assert LEASES.read(LEASES.write(value)) == value


@given(config_maps(), json_documents, json_documents)
def test_what_we_do_not_know_is_written_back(value: ConfigMap, beside: Document, within: Document) -> None:
    """A change of ours must not undo what others put there."""
    known = {"apiVersion", "kind", "metadata", "data"}
    odd = {key: found for key, found in beside.items() if key not in known}
    inner = {f"x-{key}": found for key, found in within.items()}
    document = {**CONFIG_MAPS.write(attrs.evolve(value, rest={})), **odd}
    document["metadata"] = {**dict(document["metadata"]), **inner} if isinstance(document["metadata"], dict) else {}
    assert CONFIG_MAPS.write(CONFIG_MAPS.read(document)) == document


@pytest.mark.parametrize("kind", [CONFIG_MAPS, LEASES], ids=lambda kind: kind.name)
@given(document=json_documents, metadata=json_documents)
def test_nonsense_is_a_wire_error(kind: Kind[ConfigMap] | Kind[Lease], document: Document, metadata: Document) -> None:
    for found in (document, {**document, "metadata": metadata}):
        try:
            read = kind.read(found)
        except WireError:
            continue
        assert read.metadata.name


@given(st.lists(config_maps(), max_size=4), st.text(min_size=1, max_size=5), st.text(max_size=5))
def test_a_listing_is_its_items_at_a_version(items: list[ConfigMap], version: str, more: str) -> None:
    document = {
        "metadata": {"resourceVersion": version, "continue": more},
        "items": list(map(CONFIG_MAPS.write, items)),
    }
    listing = read_listing(CONFIG_MAPS, document)
    assert (listing.items, listing.resource_version) == (tuple(items), version)
    assert continue_of(document) == (more or None)


@given(json_documents)
def test_a_listing_without_a_version_is_refused(document: Document) -> None:
    """A watch could not go on from it."""
    with pytest.raises(WireError):
        read_listing(CONFIG_MAPS, {**document, "metadata": {}, "items": []})
