"""Would an API server take this object? Its rules for names, labels, sizes and fields, as (field, message) pairs."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from sie.testing.kube.resources import LEASES, Document, Resource

MAX_DATA_BYTES = 1 << 20
MAX_ANNOTATION_BYTES = 256 << 10
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")

Cause = tuple[str, str]


class WrongType(ValueError):
    """A field that cannot be decoded at all, which is 400 and not 422."""


def problems(resource: Resource, document: Document) -> list[Cause]:
    """Raises WrongType."""
    metadata = as_document(document.get("metadata"), "metadata")
    own = _lease(document) if resource is LEASES else _config_map(document)
    return [*_metadata(metadata), *own]


def as_document(value: object, field: str) -> Document:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongType(f"{field}: must be an object")
    return value


def is_subdomain(name: str) -> bool:
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def _metadata(metadata: Document) -> Iterator[Cause]:
    name = metadata.get("name")
    if not isinstance(name, str) or not is_subdomain(name):
        yield "metadata.name", f"Invalid value: {name!r}: must be a lowercase RFC 1123 subdomain"
    for key, value in _strings(metadata, "labels").items():
        if not _is_label_key(key):
            yield "metadata.labels", f"Invalid value: {key!r}: must be a qualified name"
        if value and not _QUALIFIED.fullmatch(value):
            yield "metadata.labels", f"Invalid value: {value!r}: must be a valid label"
    annotations = _strings(metadata, "annotations")
    for key in annotations:
        if not _is_label_key(key):
            yield "metadata.annotations", f"Invalid value: {key!r}: must be a qualified name"
    if sum(len(key) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATION_BYTES:
        yield "metadata.annotations", f"Too long: may not be more than {MAX_ANNOTATION_BYTES} bytes"


def _is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return _QUALIFIED.fullmatch(name) is not None and (not slash or is_subdomain(prefix))


def _config_map(document: Document) -> Iterator[Cause]:
    data, binary = _strings(document, "data"), _strings(document, "binaryData")
    for field, words in (("data", data), ("binaryData", binary)):
        for key in words:
            if not _KEY.fullmatch(key) or key in (".", ".."):
                yield f"{field}[{key}]", f"Invalid value: {key!r}: must be a valid config key"
    for key in sorted(data.keys() & binary.keys()):
        yield f"data[{key}]", "Invalid value: duplicate of key present in binaryData"
    size = sum(len(value.encode()) for value in data.values()) + sum(map(_decoded_bytes, binary.values()))
    if size > MAX_DATA_BYTES:
        yield "", f"Too long: may not be more than {MAX_DATA_BYTES} bytes"


def _decoded_bytes(text: str) -> int:
    try:
        return len(base64.b64decode(text, validate=True))
    except binascii.Error as error:
        raise WrongType(f"binaryData: {error}") from error


def _lease(document: Document) -> Iterator[Cause]:
    spec = as_document(document.get("spec"), "spec")
    holder = spec.get("holderIdentity")
    if holder is not None and not isinstance(holder, str):
        raise WrongType("spec.holderIdentity: must be a string")
    if holder == "":
        yield "spec.holderIdentity", "Invalid value: '': must not be empty"
    duration, transitions = _integer(spec, "leaseDurationSeconds"), _integer(spec, "leaseTransitions")
    if duration is not None and duration <= 0:
        yield "spec.leaseDurationSeconds", f"Invalid value: {duration}: must be greater than 0"
    if transitions is not None and transitions < 0:
        yield "spec.leaseTransitions", f"Invalid value: {transitions}: must be greater than or equal to 0"
    for field in ("acquireTime", "renewTime"):
        _check_time(spec.get(field), field)


def _integer(spec: Document, field: str) -> int | None:
    value = spec.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**31:
        raise WrongType(f"spec.{field}: must be an int32")
    return value


def _check_time(value: object, field: str) -> None:
    if value is not None and not (isinstance(value, str) and _has_offset(value)):
        raise WrongType(f"spec.{field}: {value!r} is no MicroTime")


def _has_offset(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _strings(of: Document, field: str) -> Mapping[str, str]:
    found = as_document(of.get(field), field)
    if not all(isinstance(value, str) for value in found.values()):
        raise WrongType(f"{field}: must hold strings")
    return {key: str(value) for key, value in found.items()}
