"""What does the API server keep of a document that it is sent? Known fields alone, with the server's own filled in."""

from collections.abc import Mapping
from datetime import UTC, datetime

from sie.testing.kube.refusing import Refused, invalid
from sie.testing.kube.resources import LEASES, SPEC_FIELDS, Document, Resource
from sie.testing.kube.validating import WrongType, as_document, problems

METADATA_FIELDS = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")


def shaped(resource: Resource, namespace: str, sent: object) -> Document:
    """What of it counts, checked; without the server's own metadata. Raises Refused."""
    try:
        document = as_document(sent, "body")
        _check_kind(resource, document)
        metadata = as_document(document.get("metadata"), "metadata")
        if metadata.get("namespace") not in (None, "", namespace):
            raise Refused(400, "the namespace of the provided object does not match the namespace sent on the request")
        kept: Document = {field: document[field] for field in resource.fields if document.get(field) is not None}
        if resource is LEASES:
            kept["spec"] = _spec(as_document(document.get("spec"), "spec"))
        known = {field: metadata[field] for field in METADATA_FIELDS if metadata.get(field) not in (None, {}, [])}
        shape = {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            "metadata": known | {"namespace": namespace},
            **kept,
        }
        causes = problems(resource, shape)
    except WrongType as error:
        raise Refused(400, f"{resource.kind} cannot be handled: {error}") from error
    if causes:
        raise invalid(resource, str(known.get("name")), causes)
    return shape


def _check_kind(resource: Resource, document: Document) -> None:
    for field, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        if document.get(field) not in (None, "", wanted):
            raise Refused(400, f"{field} {document.get(field)!r} does not match {wanted}")


def _spec(spec: Document) -> Document:
    kept = {field: spec[field] for field in SPEC_FIELDS if spec.get(field) is not None}
    return {field: _micro(value) if field.endswith("Time") else value for field, value in kept.items()}


def _micro(value: object) -> object:
    """As the server writes a MicroTime; what is none is left for the check to find."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return value
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if at.tzinfo else value


def owned(shape: Document, server: Mapping[str, str]) -> Document:
    """With the server's metadata: uid, resourceVersion, creationTimestamp."""
    return {**shape, "metadata": {**metadata_of(shape), **server}}


def metadata_of(document: Document) -> Document:
    found = document.get("metadata")
    return found if isinstance(found, dict) else {}


def text_of(document: Document, field: str) -> str:
    """Of the metadata; empty where it is not there."""
    return str(metadata_of(document).get(field) or "")
