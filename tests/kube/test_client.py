"""The Kubernetes client: every failure is one of the closed set, nothing waits for ever, tokens are read again."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import attrs
import httpx2
import pytest
import trio
from trio.testing import MockClock

from sie.kube.access import Access
from sie.kube.bearer import REREAD_S
from sie.kube.client import CALL_TIMEOUT_S, PAGE, open_kube
from sie.kube.core.documents import CONFIG_MAPS, LEASES
from sie.kube.core.errors import (
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from sie.kube.core.rewatching import GRACE_S
from sie.kube.core.values import Bookmark, ConfigMap, Event, Lease, LeaseSpec, Metadata, Put
from sie.testing.kube.contract import config_map
from sie.testing.kube.face import error_event
from sie.testing.kube.faults import Delay, Fault, Garble, Hang, LoseAnswer, Mute, Refuse
from sie.testing.kube.resources import CONFIG_MAPS as RESOURCE
from tests.kube.opening import in_place, named, opened


class OnePiece(httpx2.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self.body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body


async def _soon(what: Callable[[], None]) -> None:
    await trio.sleep(0.5)
    what()


@pytest.mark.parametrize(
    ("code", "kind"),
    [(400, Invalid), (403, Forbidden), (410, Gone), (422, Invalid), (429, TooManyRequests), (500, Unavailable)],
)
async def test_a_refusal_is_one_of_the_set(code: int, kind: type[KubeError]) -> None:
    async with opened() as on:
        on.double.faults.add(Refuse(code, retry_after="7"))
        with pytest.raises(kind) as caught:
            await on.kube.get(CONFIG_MAPS, "a")
        assert caught.value.retry_after_s == 7.0


@pytest.mark.parametrize("fault", [Hang(), Delay(CALL_TIMEOUT_S + 1), Garble(), LoseAnswer()], ids=repr)
async def test_without_an_answer_the_server_is_unavailable(autojump_clock: MockClock, fault: Fault) -> None:
    async with opened() as on:
        on.double.faults.add(fault)
        with pytest.raises(Unavailable):
            await on.kube.create(CONFIG_MAPS, named("a"))


async def test_a_lost_answer_leaves_what_was_written() -> None:
    async with opened() as on:
        on.double.faults.add(LoseAnswer())
        with pytest.raises(Unavailable):
            await on.kube.create(CONFIG_MAPS, named("a", key="x"))
        assert (await on.kube.get(CONFIG_MAPS, "a")).data == {"key": "x"}


async def test_nobody_there_is_unavailable() -> None:
    async with open_kube(Access("http://127.0.0.1:1"), run_in_thread=in_place) as kube:
        with pytest.raises(Unavailable):
            await kube.list(CONFIG_MAPS)


async def test_a_token_is_read_again_after_a_minute(autojump_clock: MockClock, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    async with opened(token_file=file) as on:
        on.double.users = {"one": None, "two": None}
        await on.kube.list(CONFIG_MAPS)
        file.write_text("two\n")
        await trio.sleep(REREAD_S)
        del on.double.users["one"]
        await on.kube.list(CONFIG_MAPS)
        assert len(on.double.asked) == 2


async def test_a_token_is_read_again_when_it_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    async with opened(token_file=file) as on:
        on.double.users = {"one": None}
        await on.kube.create(CONFIG_MAPS, named("a"))
        file.write_text("two")
        on.double.users = {"two": None}
        await on.kube.create(CONFIG_MAPS, named("b"))
        on.double.users = {"three": None}
        with pytest.raises(Unauthorized):
            await on.kube.create(CONFIG_MAPS, named("c"))


async def test_a_token_that_cannot_be_read_is_the_last_one(autojump_clock: MockClock, tmp_path: Path) -> None:
    """As while the folder is being replaced."""
    file = tmp_path / "token"
    file.write_text("one")
    async with opened(token_file=file) as on:
        on.double.users = {"one": None}
        await on.kube.list(CONFIG_MAPS)
        file.unlink()
        await trio.sleep(REREAD_S)
        await on.kube.list(CONFIG_MAPS)


async def test_without_any_token_the_server_is_unavailable(tmp_path: Path) -> None:
    async with opened(token_file=tmp_path / "missing") as on:
        with pytest.raises(Unavailable, match="token"):
            await on.kube.list(CONFIG_MAPS)


async def test_what_the_role_does_not_grant_is_forbidden() -> None:
    async with opened(token="reader") as on:
        on.double.users = {"reader": frozenset({("get", "configmaps"), ("list", "configmaps")})}
        assert (await on.kube.list(CONFIG_MAPS)).items == ()
        with pytest.raises(Forbidden, match="create"):
            await on.kube.create(CONFIG_MAPS, named("a"))
        with pytest.raises(Forbidden, match="leases"):
            await on.kube.get(LEASES, "a")


async def test_a_listing_is_read_in_pages_of_one_revision() -> None:
    async with opened() as on:
        for number in range(PAGE + 3):
            on.double.model.create(RESOURCE, "default", config_map(f"m{number:04}"))
        listing = await on.kube.list(CONFIG_MAPS)
        assert len(listing.items) == PAGE + 3
        assert [asked.verb for asked in on.double.asked] == ["list", "list"]
        assert listing.resource_version == str(on.double.model.revision)


async def test_a_listing_whose_revision_is_compacted_between_its_pages_begins_again_whole(
    autojump_clock: MockClock,
) -> None:
    async with opened() as on:
        for number in range(PAGE + 3):
            on.double.model.create(RESOURCE, "default", config_map(f"m{number:04}"))
        model = on.double.model

        def compacted() -> None:
            model.replace(RESOURCE, "default", "m0000", config_map("m0000", data={"key": "new"}))
            model.compact()

        on.double.faults.add(Delay(1.0), verbs={"list"})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_soon, compacted)
            listing = await on.kube.list(CONFIG_MAPS)
        assert len(listing.items) == PAGE + 3
        assert listing.items[0].data == {"key": "new"}
        assert len(on.double.asked) == 3


async def test_a_deletion_may_name_the_object_and_the_version_that_it_means() -> None:
    async with opened() as on:
        first = await on.kube.create(CONFIG_MAPS, named("a", key="1"))
        changed = await on.kube.replace(CONFIG_MAPS, attrs.evolve(first, data={"key": "2"}))
        with pytest.raises(Conflict):
            await on.kube.delete(CONFIG_MAPS, "a", resource_version=first.metadata.resource_version)
        with pytest.raises(Conflict):
            await on.kube.delete(CONFIG_MAPS, "a", uid="another")
        await on.kube.delete(CONFIG_MAPS, "a", uid=changed.metadata.uid)
        with pytest.raises(NotFound):
            await on.kube.delete(CONFIG_MAPS, "a")


async def test_a_lease_is_never_replaced_without_its_version() -> None:
    async with opened() as on:
        made = await on.kube.create(LEASES, Lease(Metadata("a"), LeaseSpec("me", 15, 1.5, 2.000001, 0)))
        assert made.spec == LeaseSpec("me", 15, 1.5, 2.000001, 0)
        with pytest.raises(Invalid, match="resourceVersion"):
            await on.kube.replace(LEASES, Lease(Metadata("a"), LeaseSpec("you")))


async def test_a_merge_patch_of_a_lease_leaves_the_rest() -> None:
    async with opened() as on:
        await on.kube.create(LEASES, Lease(Metadata("a"), LeaseSpec("me", 15)))
        patched = await on.kube.merge_patch(LEASES, "a", {"spec": {"holderIdentity": "you"}})
        assert patched.spec == LeaseSpec("you", 15)


async def test_a_watch_ends_when_its_time_is_over_with_a_bookmark(autojump_clock: MockClock) -> None:
    seen: list[Event[ConfigMap]] = []
    async with opened() as on:
        await on.kube.create(CONFIG_MAPS, named("a"))
        await on.kube.watch_once(CONFIG_MAPS, seen.extend, resource_version="7", span_s=20)
    assert isinstance(seen[0], Put)
    assert seen[-1] == Bookmark("8")


async def test_a_silent_watch_is_given_up_soon_after_its_time(autojump_clock: MockClock) -> None:
    async with opened() as on:
        on.double.faults.add(Mute())
        began = trio.current_time()
        with pytest.raises(Unavailable, match="in time"):
            await on.kube.watch_once(CONFIG_MAPS, lambda _: None, resource_version="7", span_s=20)
        assert trio.current_time() == began + 20 + GRACE_S


async def test_events_before_an_error_are_delivered_first(autojump_clock: MockClock) -> None:
    seen: list[Event[ConfigMap]] = []
    async with opened() as on, trio.open_nursery() as nursery:
        nursery.start_soon(_soon, on.double.expire_watches)
        await on.kube.create(CONFIG_MAPS, named("a"))
        with pytest.raises(Gone):
            await on.kube.watch_once(CONFIG_MAPS, seen.extend, resource_version="7", span_s=20)
    assert [type(event) for event in seen] == [Put]


async def test_an_event_is_delivered_though_an_error_comes_in_the_same_piece() -> None:
    events = ({"type": "ADDED", "object": config_map("a")}, error_event(410, "too old"))
    body = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=OnePiece(body)))
    seen: list[Event[ConfigMap]] = []
    async with open_kube(Access("http://kube"), run_in_thread=in_place, transport=transport) as kube:
        with pytest.raises(Gone):
            await kube.watch_once(CONFIG_MAPS, seen.extend, resource_version="7", span_s=20)
    assert [type(event) for event in seen] == [Put]


async def test_a_history_that_is_gone_is_said_by_the_response_too() -> None:
    async with opened() as on:
        await on.kube.create(CONFIG_MAPS, named("a"))
        on.double.model.compact()
        with pytest.raises(Gone):
            await on.kube.watch_once(CONFIG_MAPS, lambda _: None, resource_version="7", span_s=20)


async def test_the_environments_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    asked: list[httpx2.Request] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(404, json={})

    transport = httpx2.MockTransport(answer)
    async with open_kube(Access("http://kube", token="t"), run_in_thread=in_place, transport=transport) as kube:
        with pytest.raises(NotFound):
            await kube.get(CONFIG_MAPS, "a")
    assert asked[0].headers["Authorization"] == "Bearer t"
    assert asked[0].url.path == "/api/v1/namespaces/default/configmaps/a"
