"""What does an HTTP request ask of the model, and what is the answer? A sans-IO face: requests in, answers or watches
out.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from functools import partial
from typing import Literal

import attrs

from sie.testing.kube.patching import BadPatch, FailedPatch, json_patched, merged
from sie.testing.kube.refusing import Refused
from sie.testing.kube.resources import RESOURCES, Document, Resource, discovery

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "discover"]
VERBS: Mapping[tuple[str, bool], Verb] = {
    ("GET", True): "get",
    ("GET", False): "list",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PATCH", True): "patch",
    ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection",
}
MERGE_TYPES = ("application/merge-patch+json", "application/strategic-merge-patch+json")


@attrs.frozen
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""


@attrs.frozen
class Asked:
    """What a request means. Outside the kinds that are known, `resource` is None."""

    verb: Verb
    resource: Resource | None = None
    namespace: str | None = None
    name: str | None = None


def understood(request: Request) -> Asked | None:
    """None where there is nothing at that path."""
    parts = tuple(part for part in request.path.split("/") if part)
    if discovery(parts) is not None:
        return Asked("discover")
    for resource in RESOURCES:
        depth = len(resource.root)
        if parts[:depth] == resource.root and (asked := _within(request, resource, parts[depth:])) is not None:
            return asked
    return None


def _within(request: Request, resource: Resource, parts: tuple[str, ...]) -> Asked | None:
    match parts:
        case (resource.plural,):
            asked = Asked("list", resource)
        case ("namespaces", namespace, resource.plural):
            asked = Asked("list", resource, namespace)
        case ("namespaces", namespace, resource.plural, name):
            asked = Asked("get", resource, namespace, name)
        case _:
            return None
    verb = VERBS.get((request.method, asked.name is not None))
    if verb is None:
        raise Refused(405, "the server does not allow this method on the requested resource")
    if verb == "list" and request.query.get("watch") in ("1", "true"):
        verb = "watch"
    return attrs.evolve(asked, verb=verb)


def json_of(request: Request) -> Document:
    sent = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if sent not in ("application/json", "application/yaml") or request.body[:4] == b"k8s\x00":
        raise Refused(415, f"the body of the request was in an unknown format ({sent}): JSON alone is understood")
    return _parsed(request.body, dict)


def _parsed(body: bytes, wanted: type[Document]) -> Document:
    found = loaded(body)
    if not isinstance(found, wanted):
        raise Refused(400, "the object provided is unrecognized")
    return found


def loaded(body: bytes) -> object:
    try:
        loaded: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the object provided is unrecognized: {error}") from error
    return loaded


def patch_of(request: Request) -> "partial[object]":
    sent = request.headers.get("content-type", "").partition(";")[0].strip()
    if sent not in (*MERGE_TYPES, "application/json-patch+json"):
        raise Refused(415, f"the body of the request was in an unknown format ({sent})")
    return partial(_patched, loaded(request.body), sent in MERGE_TYPES)


def _patched(patch: object, merge: bool, held: Document) -> object:
    try:
        return merged(held, patch) if merge else json_patched(held, patch)
    except BadPatch as error:
        raise Refused(400, str(error)) from error
    except FailedPatch as error:
        raise Refused(422, str(error)) from error


@attrs.frozen
class Place:
    """Where a page of a listing begins; 0 is the first page, of a revision that is not yet cut."""

    revision: int
    start: int

    def token(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([self.revision, self.start]).encode()).decode()


def place_of(token: str, revision: int) -> Place:
    if not token:
        return Place(revision, 0)
    try:
        at, start = json.loads(base64.urlsafe_b64decode(token))
        return Place(int(at), int(start))
    except (binascii.Error, ValueError, TypeError) as error:
        raise Refused(400, f"continue key is not valid: {error}") from error


def number_of(request: Request, name: str, otherwise: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return otherwise
    if not text.isascii() or not text.isdigit():
        raise Refused(400, f"{name}: Invalid value: {text!r}")
    return int(text)
