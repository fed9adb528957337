"""What would an API server hold and answer? A model without I/O: objects, one rising revision for all, a history.

Documents are never changed in place. A method raises Refused with the Status that the server would answer.
"""

import random
from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, datetime

import attrs

from sie.testing.kube.refusing import Refused, already_exists, conflict, expired, invalid, not_found
from sie.testing.kube.resources import Document, Resource
from sie.testing.kube.selecting import Selector
from sie.testing.kube.shaping import metadata_of, owned, shaped, text_of

FIRST_REVISION = 7
"""Soon past 9, so that whoever compares versions as text is found out."""
GENERATED_DIGITS = 5


@attrs.frozen
class Happened:
    """One change: before and after are None for a creation and a deletion."""

    revision: int
    resource: Resource
    before: Document | None
    after: Document | None


@attrs.frozen
class Key:
    resource: Resource
    namespace: str
    name: str


@attrs.frozen
class Scope:
    """What a listing or a watch covers; without a namespace all of them."""

    resource: Resource
    namespace: str | None = None
    selector: Selector = attrs.field(factory=Selector)

    def covers(self, resource: Resource, document: Document | None) -> bool:
        return (
            document is not None
            and resource is self.resource
            and self.namespace in (None, text_of(document, "namespace"))
            and self.selector.chooses(document)
        )


@attrs.define(eq=False)
class KubeModel:
    """`unix_s` dates creations. `woken` are called after each change. `window` bounds the history by count."""

    unix_s: Callable[[], float]
    luck: random.Random
    namespaces: set[str] = attrs.field(factory=lambda: {"default"})
    window: int = 100_000
    revision: int = attrs.field(default=FIRST_REVISION, init=False)
    compacted: int = attrs.field(default=FIRST_REVISION, init=False)
    woken: list[Callable[[], None]] = attrs.field(factory=list, init=False)
    _objects: dict[Key, Document] = attrs.field(factory=dict, init=False)
    _history: list[Happened] = attrs.field(factory=list, init=False)

    def get(self, resource: Resource, namespace: str, name: str) -> Document:
        found = self._objects.get(Key(resource, namespace, name))
        if found is None:
            raise not_found(resource, name)
        return found

    def holds(self, resource: Resource, namespace: str, name: str) -> bool:
        return Key(resource, namespace, name) in self._objects

    def listed(self, scope: Scope) -> list[Document]:
        """By namespace and name."""
        chosen = [found for key, found in self._objects.items() if scope.covers(key.resource, found)]
        return sorted(chosen, key=lambda found: (text_of(found, "namespace"), text_of(found, "name")))

    def create(self, resource: Resource, namespace: str, sent: object) -> Document:
        if namespace not in self.namespaces:
            raise Refused(404, f'namespaces "{namespace}" not found')
        shape = shaped(resource, namespace, self._named(sent))
        if isinstance(sent, dict) and text_of(sent, "resourceVersion"):
            raise Refused(400, "resourceVersion should not be set on objects to be created")
        key = Key(resource, namespace, text_of(shape, "name"))
        if key in self._objects:
            raise already_exists(resource, key.name)
        created = f"{datetime.fromtimestamp(self.unix_s(), UTC):%Y-%m-%dT%H:%M:%SZ}"
        return self._put(key, owned(shape, {"uid": self._uid(), "creationTimestamp": created}))

    def replace(self, resource: Resource, namespace: str, name: str, sent: object) -> Document:
        document = sent if isinstance(sent, dict) else {}
        if text_of(document, "name") != name:
            told = text_of(document, "name")
            raise Refused(400, f"the name of the object ({told}) does not match the name on the URL ({name})")
        held = self._objects.get(Key(resource, namespace, name))
        if held is None:
            return self._created_by_update(resource, namespace, name, document)
        if not text_of(document, "resourceVersion") and not resource.unconditional:
            raise invalid(resource, name, [("metadata.resourceVersion", "Invalid value: must be specified")])
        return self._update(resource, held, document)

    def patch(self, resource: Resource, namespace: str, name: str, change: Callable[[Document], object]) -> Document:
        held = self.get(resource, namespace, name)
        result = change(held)
        document = result if isinstance(result, dict) else {}
        if text_of(document, "name") != name:
            raise invalid(resource, name, [("metadata.name", "Invalid value: field is immutable")])
        return self._update(resource, held, document)

    def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str | None = None, version: str | None = None
    ) -> Document:
        """The object as it was last."""
        held = self.get(resource, namespace, name)
        for field, wanted in (("uid", uid), ("resourceVersion", version)):
            if wanted is not None and wanted != text_of(held, field):
                raise conflict(resource, name, f"the {field} in the precondition ({wanted}) is not the object's")
        del self._objects[Key(resource, namespace, name)]
        self._commit(resource, held, None)
        return held

    def since(self, scope: Scope, revision: int) -> list[Document]:
        """The events after it, as a watch writes them. An object that enters or leaves a selection is told as added or
        deleted.
        """
        if revision < self.compacted:
            raise expired(f"too old resource version: {revision} ({self.compacted})")
        if revision > self.revision:
            raise Refused(504, f"Too large resource version: {revision}, current: {self.revision}")
        later = self._history[bisect_right(self._history, revision, key=lambda entry: entry.revision) :]
        return [event for entry in later if (event := _event(scope, entry)) is not None]

    def compact(self, keep: int = 0) -> None:
        """Forget the history but its last `keep` entries; a watch from before then is expired."""
        self._history = self._history[len(self._history) - keep :] if keep else []
        self.compacted = self._history[0].revision - 1 if self._history else self.revision

    def _created_by_update(self, resource: Resource, namespace: str, name: str, document: Document) -> Document:
        if not resource.creates_on_update:
            raise not_found(resource, name)
        if text_of(document, "resourceVersion") or text_of(document, "uid"):
            raise conflict(resource, name, "the object has been deleted")
        return self.create(resource, namespace, document)

    def _update(self, resource: Resource, held: Document, sent: Document) -> Document:
        key = Key(resource, text_of(held, "namespace"), text_of(held, "name"))
        if text_of(sent, "resourceVersion") not in ("", text_of(held, "resourceVersion")):
            why = "the object has been modified; please apply your changes to the latest version and try again"
            raise conflict(resource, key.name, why)
        if text_of(sent, "uid") not in ("", text_of(held, "uid")):
            raise conflict(resource, key.name, "Precondition failed: UID in precondition")
        shape = shaped(resource, key.namespace, sent)
        own = {field: text_of(held, field) for field in ("uid", "creationTimestamp", "resourceVersion")}
        after = owned(shape, own)
        if after == held:
            return held
        _check_immutable(resource, held, after)
        return self._put(key, after)

    def _put(self, key: Key, document: Document) -> Document:
        before = self._objects.get(key)
        after = owned(document, {"resourceVersion": str(self.revision + 1)})
        self._objects[key] = after
        self._commit(key.resource, before, after)
        return after

    def _commit(self, resource: Resource, before: Document | None, after: Document | None) -> None:
        self.revision += 1
        self._history.append(Happened(self.revision, resource, before, after))
        if len(self._history) > self.window:
            self.compact(keep=self.window // 2)
        for wake in tuple(self.woken):
            wake()

    def _named(self, sent: object) -> object:
        """With a name made from `generateName`, where there is no other."""
        prefix = text_of(sent, "generateName") if isinstance(sent, dict) else ""
        if not isinstance(sent, dict) or not prefix or text_of(sent, "name"):
            return sent
        name = prefix + "".join(self.luck.choices("bcdfghjklmnpqrstvwxz2456789", k=GENERATED_DIGITS))
        return {**sent, "metadata": {**metadata_of(sent), "name": name}}

    def _uid(self) -> str:
        digits = f"{self.luck.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _event(scope: Scope, entry: Happened) -> Document | None:
    was, is_now = scope.covers(entry.resource, entry.before), scope.covers(entry.resource, entry.after)
    if is_now:
        return {"type": "MODIFIED" if was else "ADDED", "object": entry.after}
    if was and entry.before is not None:
        return {"type": "DELETED", "object": owned(entry.before, {"resourceVersion": str(entry.revision)})}
    return None


def _check_immutable(resource: Resource, held: Document, after: Document) -> None:
    if held.get("immutable") is True:
        for field in ("data", "binaryData", "immutable"):
            if held.get(field) != after.get(field):
                why = "Forbidden: field is immutable when `immutable` is set"
                raise invalid(resource, text_of(held, "name"), [(field, why)])
