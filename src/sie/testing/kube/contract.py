"""What must an API server do for ConfigMaps and Leases, whoever asks? One list of checks, for every client alike.

Each check takes a client of an empty namespace and asserts. That kubectl, lightkube and ours all pass is three opinions
that the double answers as clients expect.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import attrs
import trio

from sie.testing.kube.resources import CONFIG_MAPS, LEASES, Document, Resource
from sie.testing.kube.shaping import metadata_of, text_of

INCREMENTS = 3
WATCHED_S = 30.0
MICRO_TIMES = ("2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:59.500000Z")

Saw = Callable[[str, str], None]
"""PUT or DELETED, and a name."""


class Failed(Exception):
    """The server refused; `reason` is its Status's."""

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason


class Driver(Protocol):
    """A client, in terms of documents. Each call raises Failed. `selector` is of the form `key=value`."""

    async def create(self, resource: Resource, document: Document) -> Document: ...

    async def get(self, resource: Resource, name: str) -> Document: ...

    async def listed(self, resource: Resource, selector: str) -> list[Document]: ...

    async def replace(self, resource: Resource, document: Document) -> Document: ...

    async def merge_patch(self, resource: Resource, name: str, patch: Document) -> Document: ...

    async def delete(self, resource: Resource, name: str) -> None: ...

    async def watch(self, resource: Resource, selector: str, saw: Saw) -> None:
        """Tells what is there first, then what happens, until it is cancelled."""
        ...


def config_map(
    name: str, *, data: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None
) -> Document:
    metadata: Document = {"name": name} | ({"labels": dict(labels)} if labels else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data or {"key": "value"})}


def lease(name: str, **spec: object) -> Document:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}


@contextmanager
def failing(*reasons: str) -> Iterator[None]:
    """Raises AssertionError, whatever else came of it."""
    try:
        yield
    except Failed as failed:
        if failed.reason not in reasons:
            raise AssertionError(f"{failed}, where one of {reasons} was due") from failed
    else:
        raise AssertionError(f"nothing was refused, where one of {reasons} was due")


async def what_was_created_is_read_back(client: Driver) -> None:
    data = {"pool.json": '{"ü": "名 \U0001f984"}', "empty": "", "lines": "a\r\nb\u2028c\n"}
    created = await client.create(CONFIG_MAPS, config_map("a.b-c", data=data, labels={"x.io/y": "Z_1"}))
    read = await client.get(CONFIG_MAPS, "a.b-c")
    assert read["data"] == data
    assert metadata_of(read)["labels"] == {"x.io/y": "Z_1"}
    for field in ("uid", "resourceVersion", "creationTimestamp"):
        assert text_of(read, field)
        assert text_of(read, field) == text_of(created, field)


async def a_second_creation_is_refused(client: Driver) -> None:
    await client.create(CONFIG_MAPS, config_map("a"))
    with failing("AlreadyExists"):
        await client.create(CONFIG_MAPS, config_map("a", data={"other": "x"}))
    assert (await client.get(CONFIG_MAPS, "a"))["data"] == {"key": "value"}


async def what_is_not_there_is_not_found(client: Driver) -> None:
    with failing("NotFound"):
        await client.get(CONFIG_MAPS, "a")
    with failing("NotFound"):
        await client.replace(CONFIG_MAPS, config_map("a"))
    with failing("NotFound"):
        await client.merge_patch(CONFIG_MAPS, "a", {"data": {"k": "v"}})
    with failing("NotFound"):
        await client.delete(LEASES, "a")


async def a_listing_selects_by_label(client: Driver) -> None:
    assert await client.listed(CONFIG_MAPS, "") == []
    for number, color in enumerate(("red", "blue", "red")):
        await client.create(CONFIG_MAPS, config_map(f"m{number}", labels={"color": color}))
    await client.create(CONFIG_MAPS, config_map("plain"))
    await client.create(LEASES, lease("m0"))
    assert [text_of(found, "name") for found in await client.listed(CONFIG_MAPS, "")] == ["m0", "m1", "m2", "plain"]
    assert [text_of(found, "name") for found in await client.listed(CONFIG_MAPS, "color=red")] == ["m0", "m2"]
    assert await client.listed(CONFIG_MAPS, "color=green") == []


async def a_stale_replacement_is_a_conflict(client: Driver) -> None:
    first = await client.create(CONFIG_MAPS, config_map("a"))
    second = await client.replace(CONFIG_MAPS, first | {"data": {"key": "second"}})
    assert text_of(second, "resourceVersion") != text_of(first, "resourceVersion")
    assert text_of(second, "uid") == text_of(first, "uid")
    with failing("Conflict"):
        await client.replace(CONFIG_MAPS, first | {"data": {"key": "stale"}})
    assert (await client.get(CONFIG_MAPS, "a"))["data"] == {"key": "second"}


async def a_merge_patch_changes_what_it_names(client: Driver) -> None:
    await client.create(CONFIG_MAPS, config_map("a", data={"one": "1", "two": "2"}, labels={"x": "y"}))
    patch: Document = {"data": {"one": None, "three": "3"}, "metadata": {"labels": {"z": "w"}}}
    patched = await client.merge_patch(CONFIG_MAPS, "a", patch)
    assert patched["data"] == {"two": "2", "three": "3"}
    assert metadata_of(patched)["labels"] == {"x": "y", "z": "w"}


async def what_the_rules_forbid_is_invalid(client: Driver) -> None:
    for name in ("Upper", "under_score", "-dash", "dash-", "a..b", "x" * 254):
        with failing("Invalid"):
            await client.create(CONFIG_MAPS, config_map(name))
    for label in ("a b", "x" * 64, "-a"):
        with failing("Invalid"):
            await client.create(CONFIG_MAPS, config_map("a", labels={"color": label}))
    for key in ("a/b", "..", "k" * 254):
        with failing("Invalid"):
            await client.create(CONFIG_MAPS, config_map("a", data={key: ""}))
    with failing("Invalid", "RequestEntityTooLarge"):
        await client.create(CONFIG_MAPS, config_map("a", data={"big": "x" * ((1 << 20) + 1)}))
    with failing("Invalid"):
        await client.create(LEASES, lease("a", leaseDurationSeconds=0))


async def what_the_rules_just_allow_is_taken(client: Driver) -> None:
    name = ".".join(["x" * 63] * 3 + ["y" * 61])
    await client.create(CONFIG_MAPS, config_map(name, data={"big": "x" * (1 << 20)}, labels={"color": "x" * 63}))
    assert text_of(await client.get(CONFIG_MAPS, name), "name") == name


async def what_was_deleted_is_gone(client: Driver) -> None:
    first = await client.create(CONFIG_MAPS, config_map("a"))
    await client.delete(CONFIG_MAPS, "a")
    with failing("NotFound"):
        await client.get(CONFIG_MAPS, "a")
    assert text_of(await client.create(CONFIG_MAPS, config_map("a")), "uid") != text_of(first, "uid")


async def a_lease_is_taken_over_by_its_version(client: Driver) -> None:
    acquired, renewed = MICRO_TIMES
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "acquireTime": acquired, "renewTime": acquired}
    first = await client.create(LEASES, lease("a", leaseTransitions=0, **spec))
    taken = spec | {"holderIdentity": "two", "renewTime": renewed, "leaseTransitions": 1}
    await client.replace(LEASES, first | {"spec": taken})
    with failing("Conflict"):
        await client.replace(LEASES, first | {"spec": spec | {"renewTime": renewed}})
    assert (await client.get(LEASES, "a"))["spec"] == taken


async def two_writers_lose_no_increment(client: Driver) -> None:
    await client.create(CONFIG_MAPS, config_map("count", data={"n": "0"}))

    async def increment() -> None:
        for _ in range(INCREMENTS):
            while not await _incremented(client):
                pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(increment)
        nursery.start_soon(increment)
    assert _count_of(await client.get(CONFIG_MAPS, "count")) == 2 * INCREMENTS


async def _incremented(client: Driver) -> bool:
    read = await client.get(CONFIG_MAPS, "count")
    try:
        await client.replace(CONFIG_MAPS, read | {"data": {"n": str(_count_of(read) + 1)}})
    except Failed as failed:
        if failed.reason != "Conflict":
            raise
        return False
    return True


def _count_of(document: Document) -> int:
    data = document["data"]
    assert isinstance(data, dict)
    return int(data["n"])


@attrs.define(eq=False)
class _Seen:
    events: list[str] = attrs.field(factory=list)
    more: trio.Event = attrs.field(factory=trio.Event)

    def saw(self, what: str, name: str) -> None:
        self.events.append(f"{what} {name}")
        self.more.set()

    async def until(self, event: str) -> None:
        with trio.fail_after(WATCHED_S):
            while event not in self.events:
                self.more = trio.Event()
                await self.more.wait()


async def a_watch_tells_what_is_there_and_what_happens(client: Driver) -> None:
    chosen = {"color": "red"}
    await client.create(CONFIG_MAPS, config_map("first", labels=chosen))
    seen = _Seen()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.watch, CONFIG_MAPS, "color=red", seen.saw)
        await seen.until("PUT first")
        await client.create(CONFIG_MAPS, config_map("unseen"))
        second = await client.create(CONFIG_MAPS, config_map("second", labels=chosen))
        await client.replace(CONFIG_MAPS, second | {"data": {"key": "changed"}})
        await client.delete(CONFIG_MAPS, "first")
        left: Document = {"metadata": {"labels": {"color": "blue"}}}
        await client.merge_patch(CONFIG_MAPS, "second", left)
        await seen.until("DELETED second")
        nursery.cancel_scope.cancel()
    assert seen.events == ["PUT first", "PUT second", "PUT second", "DELETED first", "DELETED second"]


CHECKS: tuple[Callable[[Driver], Awaitable[None]], ...] = (
    what_was_created_is_read_back,
    a_second_creation_is_refused,
    what_is_not_there_is_not_found,
    a_listing_selects_by_label,
    a_stale_replacement_is_a_conflict,
    a_merge_patch_changes_what_it_names,
    what_the_rules_forbid_is_invalid,
    what_the_rules_just_allow_is_taken,
    what_was_deleted_is_gone,
    a_lease_is_taken_over_by_its_version,
    two_writers_lose_no_increment,
    a_watch_tells_what_is_there_and_what_happens,
)
