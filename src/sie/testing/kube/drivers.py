"""How do our client, and plain HTTP, pass the contract? Two of its drivers; those of others' clients are `ci/lib`'s."""

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Generic
from urllib.parse import urlencode

import attrs
import httpx2

from sie.kube.api import Kube
from sie.kube.core.documents import CONFIG_MAPS, LEASES, Kind
from sie.kube.core.errors import AlreadyExists, Conflict, Gone, Invalid, KubeError, NotFound
from sie.kube.core.mirror import Mirror
from sie.kube.core.values import Change, ConfigMap, Lease, Put, T
from sie.kube.watching import Watch, watch_forever
from sie.testing.kube.contract import Failed, Saw
from sie.testing.kube.resources import Document, Resource
from sie.testing.kube.shaping import text_of

REASONS: Mapping[type[KubeError], str] = {
    AlreadyExists: "AlreadyExists",
    Conflict: "Conflict",
    Gone: "Expired",
    Invalid: "Invalid",
    NotFound: "NotFound",
}


@attrs.frozen
class _OfKind(Generic[T]):
    """Documents in and out, through the values of one kind."""

    kube: Kube
    kind: Kind[T]

    async def create(self, document: Document) -> Document:
        with failing_as_told():
            return self._written(await self.kube.create(self.kind, self.kind.read(document)))

    async def get(self, name: str) -> Document:
        with failing_as_told():
            return self._written(await self.kube.get(self.kind, name))

    async def listed(self, selector: str) -> list[Document]:
        with failing_as_told():
            return [self._written(item) for item in (await self.kube.list(self.kind, selector=selector)).items]

    async def replace(self, document: Document) -> Document:
        with failing_as_told():
            return self._written(await self.kube.replace(self.kind, self.kind.read(document)))

    async def merge_patch(self, name: str, patch: Document) -> Document:
        with failing_as_told():
            return self._written(await self.kube.merge_patch(self.kind, name, patch))

    async def delete(self, name: str) -> None:
        with failing_as_told():
            await self.kube.delete(self.kind, name)

    async def watch(self, selector: str, saw: Saw) -> None:
        def changed(changes: tuple[Change[T], ...]) -> None:
            for change in changes:
                saw("PUT" if isinstance(change, Put) else "DELETED", change.item.metadata.name)

        mirror: Mirror[T] = Mirror()
        await watch_forever(self.kube, Watch(self.kind, mirror, changed, random.random, selector))

    def _written(self, item: T) -> Document:
        return dict(self.kind.write(item))


@attrs.frozen
class OurDriver:
    kube: Kube

    async def create(self, resource: Resource, document: Document) -> Document:
        return await self._on(resource).create(document)

    async def get(self, resource: Resource, name: str) -> Document:
        return await self._on(resource).get(name)

    async def listed(self, resource: Resource, selector: str) -> list[Document]:
        return await self._on(resource).listed(selector)

    async def replace(self, resource: Resource, document: Document) -> Document:
        return await self._on(resource).replace(document)

    async def merge_patch(self, resource: Resource, name: str, patch: Document) -> Document:
        return await self._on(resource).merge_patch(name, patch)

    async def delete(self, resource: Resource, name: str) -> None:
        await self._on(resource).delete(name)

    async def watch(self, resource: Resource, selector: str, saw: Saw) -> None:
        await self._on(resource).watch(selector, saw)

    def _on(self, resource: Resource) -> "_OfKind[ConfigMap] | _OfKind[Lease]":
        return _OfKind(self.kube, LEASES) if resource.plural == LEASES.plural else _OfKind(self.kube, CONFIG_MAPS)


@contextmanager
def failing_as_told() -> Iterator[None]:
    try:
        yield
    except KubeError as error:
        raise Failed(REASONS.get(type(error), type(error).__name__), str(error)) from error


@attrs.frozen
class PlainDriver:
    """Nothing but HTTP and JSON, with nothing of our client in it."""

    http: httpx2.AsyncClient

    async def create(self, resource: Resource, document: Document) -> Document:
        return await self._call("POST", _path(resource), document)

    async def get(self, resource: Resource, name: str) -> Document:
        return await self._call("GET", _path(resource, name))

    async def listed(self, resource: Resource, selector: str) -> list[Document]:
        items = (await self._call("GET", f"{_path(resource)}?{urlencode({'labelSelector': selector})}"))["items"]
        assert isinstance(items, list)
        return items

    async def replace(self, resource: Resource, document: Document) -> Document:
        return await self._call("PUT", _path(resource, text_of(document, "name")), document)

    async def merge_patch(self, resource: Resource, name: str, patch: Document) -> Document:
        return await self._call("PATCH", _path(resource, name), patch, "application/merge-patch+json")

    async def delete(self, resource: Resource, name: str) -> None:
        await self._call("DELETE", _path(resource, name))

    async def watch(self, resource: Resource, selector: str, saw: Saw) -> None:
        query = urlencode({"labelSelector": selector, "watch": "1"})
        async with (
            self.http.stream("GET", f"{_path(resource)}?{query}", timeout=None) as response,
            aclosing(response.aiter_bytes()) as chunks,
        ):
            text = b""
            async for chunk in chunks:
                *lines, text = (text + chunk).split(b"\n")
                for event in map(json.loads, lines):
                    saw("DELETED" if event["type"] == "DELETED" else "PUT", text_of(event["object"], "name"))

    async def _call(
        self, method: str, path: str, body: Document | None = None, kind: str = "application/json"
    ) -> Document:
        content = None if body is None else json.dumps(body).encode()
        response = await self.http.request(method, path, content=content, headers={"Content-Type": kind})
        document: Document = response.json()
        if response.status_code >= 400:
            raise Failed(str(document["reason"]), str(document["message"]))
        return document


def _path(resource: Resource, name: str = "") -> str:
    within = "/".join(("", *resource.root, "namespaces", "default", resource.plural))
    return f"{within}/{name}" if name else within
