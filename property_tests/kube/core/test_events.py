"""A line of a watch is an event, an error of the closed set, or a WireError."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests.kube.strategies import config_maps, json_documents
from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.errors import Gone, KubeError
from sie.kube.core.events import read_event
from sie.kube.core.values import Bookmark, ConfigMap, Document, Put, Removed
from sie.testing.kube.face import bookmark, error_event
from sie.testing.kube.model import Scope
from sie.testing.kube.resources import CONFIG_MAPS as RESOURCE
from sie.wire.converters import WireError


@given(config_maps(), st.sampled_from(("ADDED", "MODIFIED", "DELETED")))
def test_an_event_carries_its_object(value: ConfigMap, kind: str) -> None:
    line = json.dumps({"type": kind, "object": CONFIG_MAPS.write(value)}).encode()
    assert read_event(CONFIG_MAPS, line) == (Removed(value) if kind == "DELETED" else Put(value))


@given(st.binary(max_size=20) | json_documents.map(lambda found: json.dumps(found).encode()))
def test_nonsense_is_a_wire_error_or_an_error_of_the_set(line: bytes) -> None:
    with pytest.raises((WireError, KubeError)):
        read_event(CONFIG_MAPS, line)


@given(st.sampled_from(("ADDED", "BOOKMARK", "DELETED", "ERROR", "NEW")), json_documents)
def test_nonsense_within_an_event_too(kind: str, found: Document) -> None:
    with pytest.raises((WireError, KubeError)):
        read_event(CONFIG_MAPS, json.dumps({"type": kind, "object": {**found, "metadata": {}}}).encode())


@given(st.integers(1, 10**18))
def test_a_bookmark_has_only_a_version(revision: int) -> None:
    line = json.dumps(bookmark(Scope(RESOURCE), revision)).encode()
    assert read_event(CONFIG_MAPS, line) == Bookmark(str(revision))


def test_an_expired_history_is_gone() -> None:
    with pytest.raises(Gone):
        read_event(CONFIG_MAPS, json.dumps(error_event(410, "too old")).encode())
