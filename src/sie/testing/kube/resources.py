"""Which kinds of object does the double know, and how does it describe them to clients that ask first (discovery)?"""

from collections.abc import Iterable, Mapping

import attrs

Document = dict[str, object]

VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


@attrs.frozen
class Resource:
    """`creates_on_update`: a PUT of what is not there makes it; `unconditional`: a PUT needs no version. `fields` are
    kept of a document, others are dropped as the API server drops them.
    """

    kind: str
    group: str
    plural: str
    short_names: tuple[str, ...]
    creates_on_update: bool
    unconditional: bool
    fields: tuple[str, ...]

    @property
    def api_version(self) -> str:
        return f"{self.group}/v1" if self.group else "v1"

    @property
    def root(self) -> tuple[str, ...]:
        return ("apis", self.group, "v1") if self.group else ("api", "v1")

    @property
    def qualified(self) -> str:
        """As messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


CONFIG_MAPS = Resource(
    "ConfigMap", "", "configmaps", ("cm",), creates_on_update=False, unconditional=True,
    fields=("data", "binaryData", "immutable"),
)  # fmt: skip
LEASES = Resource(
    "Lease", "coordination.k8s.io", "leases", (), creates_on_update=True, unconditional=False, fields=("spec",)
)
RESOURCES = (CONFIG_MAPS, LEASES)
SPEC_FIELDS = ("holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions", "strategy")
"""Of a Lease's spec."""


def discovery(path: tuple[str, ...]) -> Document | None:
    """What is answered at these paths; None elsewhere."""
    return _DOCUMENTS.get(path)


def _resource_list(version: str, resources: Iterable[Resource]) -> Document:
    listed = [
        {
            "name": resource.plural,
            "singularName": resource.kind.lower(),
            "namespaced": True,
            "kind": resource.kind,
            "verbs": list(VERBS),
            "shortNames": list(resource.short_names),
        }
        for resource in resources
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}


def _groups() -> Document:
    groups = [
        {
            "name": resource.group,
            "versions": [{"groupVersion": resource.api_version, "version": "v1"}],
            "preferredVersion": {"groupVersion": resource.api_version, "version": "v1"},
        }
        for resource in RESOURCES
        if resource.group
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


_DOCUMENTS: Mapping[tuple[str, ...], Document] = {
    ("version",): {"major": "1", "minor": "37", "gitVersion": "v1.37.0", "platform": "linux/amd64"},
    ("api",): {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    ("apis",): _groups(),
    **{resource.root: _resource_list(resource.api_version, [resource]) for resource in RESOURCES},
}
