"""How do other people's clients pass the contract of the Kubernetes double? kubectl as a program, lightkube in process.

Neither is told anything of ours but an address. Their namespace is `default`.
"""

import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import attrs
import lightkube
import trio
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.async_client import AsyncClient
from lightkube.core.client import LabelSelector
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from sie.testing.kube.contract import Failed, Saw
from sie.testing.kube.resources import LEASES, Document, Resource
from sie.testing.kube.shaping import text_of

N = TypeVar("N", ConfigMap, Lease)

NAMESPACE = "default"
CALL_S = 60.0
_REFUSAL = re.compile(r"Error from server(?: \((?P<reason>\w+)\))?: (?P<message>.*)", re.DOTALL)
_INVALID = re.compile(r"The (?P<kind>\w+) \"[^\"]*\" is invalid")


@attrs.frozen
class KubectlDriver:
    """Each call is one run of the program; `folder` is its home, where it caches what it discovers."""

    program: Path
    url: str
    folder: Path

    async def create(self, resource: Resource, document: Document) -> Document:
        assert document["kind"] == resource.kind
        return await self._run("create", "-f", "-", "-o", "json", "--validate=false", sent=document)

    async def get(self, resource: Resource, name: str) -> Document:
        return await self._run("get", resource.qualified, name, "-o", "json")

    async def listed(self, resource: Resource, selector: str) -> list[Document]:
        items = (await self._run("get", resource.qualified, "-l", selector, "-o", "json"))["items"]
        assert isinstance(items, list)
        return items

    async def replace(self, resource: Resource, document: Document) -> Document:
        assert document["kind"] == resource.kind
        return await self._run("replace", "-f", "-", "-o", "json", "--validate=false", sent=document)

    async def merge_patch(self, resource: Resource, name: str, patch: Document) -> Document:
        return await self._run("patch", resource.qualified, name, "--type=merge", "-p", json.dumps(patch), "-o", "json")

    async def delete(self, resource: Resource, name: str) -> None:
        await self._run("delete", resource.qualified, name, "-o", "name")

    async def watch(self, resource: Resource, selector: str, saw: Saw) -> None:
        arguments = ("get", resource.qualified, "-l", selector, "--watch", "--output-watch-events", "-o", "json")
        async with self._started(*arguments) as output:
            text = ""
            async for chunk in output:
                text += chunk.decode()
                for event in (documents := _Documents(text)):
                    found = event["object"]
                    assert isinstance(found, dict)
                    saw("DELETED" if event["type"] == "DELETED" else "PUT", text_of(found, "name"))
                text = documents.left

    @asynccontextmanager
    async def _started(self, *arguments: str) -> AsyncIterator[trio.abc.ReceiveStream]:
        process = await trio.lowlevel.open_process(
            [*self._command(), *arguments], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=self._environ()
        )
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + CALL_S):
                await process.wait()

    async def _run(self, *arguments: str, sent: Document | None = None) -> Document:
        with trio.fail_after(CALL_S):
            done = await trio.run_process(
                [*self._command(), *arguments],
                stdin=b"" if sent is None else json.dumps(sent).encode(),
                capture_stdout=True,
                capture_stderr=True,
                check=False,
                env=self._environ(),
            )
        if done.returncode:
            raise _refusal(done.stderr.decode())
        if "name" in arguments[-1:]:
            return {}
        document: Document = json.loads(done.stdout)
        return document

    def _command(self) -> list[str]:
        return [str(self.program), "--server", self.url, "--namespace", NAMESPACE]

    def _environ(self) -> Mapping[str, str]:
        return {"HOME": str(self.folder), "KUBECONFIG": os.devnull, "PATH": os.defpath}


@attrs.define
class _Documents:
    """The whole JSON documents at the beginning of a text; what is behind them is `left` afterwards."""

    left: str

    def __iter__(self) -> Iterator[Document]:
        decoder = json.JSONDecoder()
        while self.left.strip():
            self.left = self.left.lstrip()
            try:
                document, end = decoder.raw_decode(self.left)
            except ValueError:
                return
            self.left = self.left[end:]
            yield document


def _refusal(told: str) -> Failed:
    if _INVALID.search(told):
        return Failed("Invalid", told)
    match = _REFUSAL.search(told)
    return Failed(match["reason"] or "Unknown", match["message"]) if match else Failed("NoAnswer", told)


@attrs.frozen
class _OfKind(Generic[N]):
    client: AsyncClient
    kind: type[N]

    async def create(self, document: Document) -> Document:
        return (await self.client.create(self._read(document))).to_dict()

    async def get(self, name: str) -> Document:
        return (await self.client.get(self.kind, name)).to_dict()

    async def listed(self, labels: LabelSelector | None) -> list[Document]:
        found = self.client.list(self.kind, namespace=NAMESPACE, labels=labels)
        return [one.to_dict() async for one in found]

    async def replace(self, document: Document) -> Document:
        return (await self.client.replace(self._read(document))).to_dict()

    async def merge_patch(self, name: str, patch: Document) -> Document:
        return (await self.client.patch(self.kind, name, patch, patch_type=PatchType.MERGE)).to_dict()

    async def delete(self, name: str) -> None:
        await self.client.delete(self.kind, name)

    async def watch(self, labels: LabelSelector | None, saw: Saw) -> None:
        async for told, found in self.client.watch(self.kind, namespace=NAMESPACE, labels=labels):
            saw("DELETED" if told == "DELETED" else "PUT", text_of(found.to_dict(), "name"))

    def _read(self, document: Document) -> N:
        found = self.kind.from_dict(document)
        assert isinstance(found, self.kind)
        return found


@attrs.frozen
class LightkubeDriver:
    client: AsyncClient

    async def create(self, resource: Resource, document: Document) -> Document:
        with _translated():
            return await self._on(resource).create(document)

    async def get(self, resource: Resource, name: str) -> Document:
        with _translated():
            return await self._on(resource).get(name)

    async def listed(self, resource: Resource, selector: str) -> list[Document]:
        with _translated():
            return await self._on(resource).listed(_labels_of(selector))

    async def replace(self, resource: Resource, document: Document) -> Document:
        with _translated():
            return await self._on(resource).replace(document)

    async def merge_patch(self, resource: Resource, name: str, patch: Document) -> Document:
        with _translated():
            return await self._on(resource).merge_patch(name, patch)

    async def delete(self, resource: Resource, name: str) -> None:
        with _translated():
            await self._on(resource).delete(name)

    async def watch(self, resource: Resource, selector: str, saw: Saw) -> None:
        await self._on(resource).watch(_labels_of(selector), saw)

    def _on(self, resource: Resource) -> "_OfKind[ConfigMap] | _OfKind[Lease]":
        return _OfKind(self.client, Lease) if resource is LEASES else _OfKind(self.client, ConfigMap)


@asynccontextmanager
async def open_lightkube(url: str) -> AsyncIterator[LightkubeDriver]:
    client = AsyncClient(config=KubeConfig.from_dict(_kubeconfig(url)), namespace=NAMESPACE, trust_env=False)
    try:
        yield LightkubeDriver(client)
    finally:
        await client.close()


def _kubeconfig(url: str) -> dict[str, object]:
    return {
        "current-context": "double",
        "contexts": [{"name": "double", "context": {"cluster": "double", "user": "somebody"}}],
        "clusters": [{"name": "double", "cluster": {"server": url}}],
        "users": [{"name": "somebody", "user": {"token": "unchecked"}}],
    }


def _labels_of(selector: str) -> LabelSelector | None:
    key, equal, value = selector.partition("=")
    return {key: value} if equal else None


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except lightkube.ApiError as error:
        raise Failed(str(error.status.reason), str(error.status.message)) from error
