"""What does one line of a watch say? An event, or the error that ends the watch."""

import orjson

from sie.kube.core.documents import Kind, read_metadata
from sie.kube.core.errors import error_of
from sie.kube.core.fields import as_map
from sie.kube.core.values import Bookmark, Document, Event, Put, Removed, T
from sie.wire.converters import WireError


def read_event(kind: Kind[T], line: bytes) -> Event[T]:
    """Raises the KubeError of an ERROR event, and WireError for what is no event."""
    event = as_map(_parsed(line))
    item = as_map(event.get("object"), "object")
    match event.get("type"):
        case "ADDED" | "MODIFIED":
            return Put(kind.read(item))
        case "DELETED":
            return Removed(kind.read(item))
        case "BOOKMARK":
            return Bookmark(_version_of(item))
        case "ERROR":
            raise error_of(500, item)
        case other:
            raise WireError.at("type", message=f"is {other!r}")


def _parsed(line: bytes) -> object:
    try:
        parsed: object = orjson.loads(line)
    except ValueError as error:
        raise WireError.at(message=f"is no JSON: {error}") from error
    return parsed


def _version_of(item: Document) -> str:
    """A bookmark's object may have no name."""
    metadata = {"name": "bookmark", **as_map(item.get("metadata"), "object", "metadata")}
    version = read_metadata(metadata).resource_version
    if not version:
        raise WireError.at("object", "metadata", "resourceVersion", message="must be there")
    return version
