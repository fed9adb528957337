"""How do ConfigMaps and Leases look in JSON? One reader and one writer a kind; a reader raises WireError."""

from collections.abc import Callable
from typing import Generic

import attrs

from sie.kube.core.fields import Left, as_map, given, take_int, take_map, take_text, take_time, take_words
from sie.kube.core.times import write_micro_time, write_time
from sie.kube.core.values import ConfigMap, Document, Lease, LeaseSpec, Listing, Metadata, T
from sie.wire.converters import WireError


@attrs.frozen
class Kind(Generic[T]):
    """One kind of object: where the API has it, and both directions of its documents."""

    name: str
    api_version: str
    plural: str
    read: Callable[[Document], T]
    write: Callable[[T], Document]

    def path(self, namespace: str, name: str | None = None) -> str:
        """Of one object, or of them all."""
        root = "/apis" if "/" in self.api_version else "/api"
        within = f"{root}/{self.api_version}/namespaces/{namespace}/{self.plural}"
        return within if name is None else f"{within}/{name}"


def read_listing(kind: Kind[T], document: object) -> Listing[T]:
    """Of one page; `continue_of` says whether there are more."""
    whole = as_map(document)
    items = whole.get("items") or []
    if not isinstance(items, list):
        raise WireError.at("items", message="must be a list")
    version = as_map(whole.get("metadata"), "metadata").get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise WireError.at("metadata", "resourceVersion", message="must be a string")
    return Listing(tuple(kind.read(as_map(item, "items")) for item in items), version)


def continue_of(document: object) -> str | None:
    """The token of a listing's next page."""
    return take_text(dict(as_map(as_map(document).get("metadata"), "metadata")), "continue") or None


def read_metadata(document: Document) -> Metadata:
    left: Left = dict(document)
    name = take_text(left, "name")
    if not name:
        raise WireError.at("metadata", "name", message="must be there")
    return Metadata(
        name,
        take_text(left, "namespace"),
        take_text(left, "uid"),
        take_text(left, "resourceVersion"),
        take_words(left, "labels"),
        take_words(left, "annotations"),
        take_time(left, "creationTimestamp"),
        left,
    )


def write_metadata(metadata: Metadata) -> Document:
    created = metadata.creation_unix_s
    return {
        **metadata.rest,
        **given(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resourceVersion=metadata.resource_version,
            labels=metadata.labels,
            annotations=metadata.annotations,
            creationTimestamp=None if created is None else write_time(created),
        ),
    }


def _read_config_map(document: Document) -> ConfigMap:
    left = _left_of(document)
    return ConfigMap(read_metadata(take_map(left, "metadata")), take_words(left, "data"), left)


def _write_config_map(value: ConfigMap) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        **value.rest,
        "metadata": write_metadata(value.metadata),
        **given(data=value.data),
    }


def _read_lease(document: Document) -> Lease:
    left = _left_of(document)
    return Lease(read_metadata(take_map(left, "metadata")), _read_spec(take_map(left, "spec")), left)


def _read_spec(document: Document) -> LeaseSpec:
    left: Left = dict(document)
    return LeaseSpec(
        take_text(left, "holderIdentity"),
        take_int(left, "leaseDurationSeconds"),
        take_time(left, "acquireTime"),
        take_time(left, "renewTime"),
        take_int(left, "leaseTransitions"),
        left,
    )


def _write_lease(value: Lease) -> Document:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        **value.rest,
        "metadata": write_metadata(value.metadata),
        "spec": _write_spec(value.spec),
    }


def _write_spec(spec: LeaseSpec) -> Document:
    acquired, renewed = spec.acquire_unix_s, spec.renew_unix_s
    return {
        **spec.rest,
        **given(
            holderIdentity=spec.holder_identity,
            leaseDurationSeconds=spec.lease_duration_s,
            acquireTime=None if acquired is None else write_micro_time(acquired),
            renewTime=None if renewed is None else write_micro_time(renewed),
            leaseTransitions=spec.lease_transitions,
        ),
    }


def _left_of(document: Document) -> Left:
    left = dict(document)
    left.pop("apiVersion", None)
    left.pop("kind", None)
    return left


CONFIG_MAPS = Kind("ConfigMap", "v1", "configmaps", _read_config_map, _write_config_map)
LEASES = Kind("Lease", "coordination.k8s.io/v1", "leases", _read_lease, _write_lease)
