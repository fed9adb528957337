"""What is the answer to a request? A sans-IO face of the model: requests in, answers or watches out."""

import attrs

from sie.testing.kube.asking import Asked, Place, Request, Verb, json_of, number_of, patch_of, place_of
from sie.testing.kube.model import KubeModel, Scope
from sie.testing.kube.refusing import Refused, expired, status, success
from sie.testing.kube.resources import Document, Resource, discovery
from sie.testing.kube.selecting import BadSelector, parse_selector
from sie.testing.kube.shaping import text_of


@attrs.frozen
class Answer:
    code: int
    body: Document
    headers: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Watching:
    """A watch that was taken: `first` are the events to begin with, `revision` is where the others go on."""

    scope: Scope
    first: tuple[Document, ...]
    revision: int
    bookmarks: bool
    timeout_s: float


@attrs.define(eq=False)
class Face:
    """Holds the snapshots that pages of a listing are cut from."""

    model: KubeModel
    _pages: dict[int, list[Document]] = attrs.field(factory=dict, init=False)

    def answer(self, request: Request, asked: Asked) -> Answer | Watching:
        try:
            return self._answered(request, asked)
        except Refused as refused:
            return Answer(refused.code, refused.status)

    def _answered(self, request: Request, asked: Asked) -> Answer | Watching:
        resource = asked.resource
        if resource is None:
            parts = tuple(part for part in request.path.split("/") if part)
            return Answer(200, discovery(parts) or {})
        if asked.verb == "list":
            return Answer(200, self._listing(request, self._scope(request, resource, asked.namespace)))
        if asked.verb == "watch":
            return self._watching(request, self._scope(request, resource, asked.namespace))
        if asked.namespace is None:
            raise Refused(405, "the server does not allow this method on the requested resource")
        if asked.name is None:
            return self._of_all(request, resource, asked.namespace, asked.verb)
        return self._of_one(request, resource, asked.namespace, asked.name, asked.verb)

    def _of_all(self, request: Request, resource: Resource, namespace: str, verb: Verb) -> Answer:
        if verb == "create":
            return Answer(201, self.model.create(resource, namespace, json_of(request)))
        raise Refused(405, "the server does not allow this method on the requested resource")

    def _of_one(self, request: Request, resource: Resource, namespace: str, name: str, verb: Verb) -> Answer:
        match verb:
            case "update":
                code = 200 if self.model.holds(resource, namespace, name) else 201
                return Answer(code, self.model.replace(resource, namespace, name, json_of(request)))
            case "patch":
                return Answer(200, self.model.patch(resource, namespace, name, patch_of(request)))
            case "delete":
                return Answer(200, self._deleted(request, resource, namespace, name))
            case _:
                return Answer(200, self.model.get(resource, namespace, name))

    def _deleted(self, request: Request, resource: Resource, namespace: str, name: str) -> Document:
        options = json_of(request) if request.body else {}
        conditions = options.get("preconditions") or {}
        if not isinstance(conditions, dict):
            raise Refused(400, "preconditions must be an object")
        version = conditions.get("resourceVersion")
        gone = self.model.delete(resource, namespace, name, uid=conditions.get("uid"), version=version)
        return success(resource, name, text_of(gone, "uid"))

    def _scope(self, request: Request, resource: Resource, namespace: str | None) -> Scope:
        try:
            selector = parse_selector(request.query.get("labelSelector", ""), request.query.get("fieldSelector", ""))
        except BadSelector as error:
            raise Refused(400, str(error)) from error
        return Scope(resource, namespace, selector)

    def _listing(self, request: Request, scope: Scope) -> Document:
        place = place_of(request.query.get("continue", ""), self.model.revision)
        if place.start and (place.revision < self.model.compacted or place.revision not in self._pages):
            raise expired("The provided continue parameter is too old")
        items = self._pages[place.revision] if place.start else self.model.listed(scope)
        end = place.start + (number_of(request, "limit", 0) or len(items))
        metadata: Document = {"resourceVersion": str(place.revision)}
        if end < len(items):
            self._pages[place.revision] = items
            metadata |= {"continue": Place(place.revision, end).token(), "remainingItemCount": len(items) - end}
        return {
            "kind": f"{scope.resource.kind}List",
            "apiVersion": scope.resource.api_version,
            "metadata": metadata,
            "items": items[place.start : end],
        }

    def _watching(self, request: Request, scope: Scope) -> Watching:
        if request.query.get("sendInitialEvents"):
            raise Refused(422, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
        version = request.query.get("resourceVersion", "")
        timeout_s = float(number_of(request, "timeoutSeconds", 1800))
        bookmarks = request.query.get("allowWatchBookmarks") in ("1", "true")
        if version in ("", "0"):
            present: list[Document] = [{"type": "ADDED", "object": found} for found in self.model.listed(scope)]
            return Watching(scope, tuple(present), self.model.revision, bookmarks, timeout_s)
        if not version.isascii() or not version.isdigit():
            raise Refused(400, f"resourceVersion: Invalid value: {version!r}")
        first = tuple(self.model.since(scope, int(version)))
        return Watching(scope, first, self.model.revision, bookmarks, timeout_s)


def bookmark(scope: Scope, revision: int) -> Document:
    item: Document = {
        "kind": scope.resource.kind,
        "apiVersion": scope.resource.api_version,
        "metadata": {"resourceVersion": str(revision), "creationTimestamp": None},
    }
    return {"type": "BOOKMARK", "object": item}


def error_event(code: int, message: str) -> Document:
    return {"type": "ERROR", "object": status(code, message)}
