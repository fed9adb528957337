"""The client of the config service: what it asks for, and that every failure is an AuthorityError (§4.1)."""

import json
from collections.abc import Awaitable, Callable, Mapping

import attrs
import httpx2
import pytest
import trio
from trio.testing import MockClock

from sie.authority.client import CALL_TIMEOUT_S, Authority, AuthorityError, open_http_authority
from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName
from sie.wire.configs_api import EpochReply

Answer = Callable[[httpx2.Request], httpx2.Response]
Call = Callable[[Authority], Awaitable[object]]
URL = "http://config:8080"
EPOCH = {"epoch": 3, "bundles_hash": "ab", "bundle_config_hashes_hash": ""}
BUNDLES = {"bundles": [{"bundle_id": "default"}, {"bundle_id": "gpu.1"}]}
EXPORT = {"epoch": 3, "models": [{"model_id": "a/b", "model_config": {"sie_id": "a/b", "profiles": {}}}]}
REPLIES: Mapping[str, bytes] = {
    "/v1/configs/epoch": json.dumps(EPOCH).encode(),
    "/v1/configs/bundles": json.dumps(BUNDLES).encode(),
    "/v1/configs/bundles/default": b"adapters: [acme.enc]\nname: default\npriority: 10\nsource: filesystem\n",
    "/v1/configs/bundles/gpu.1": b"adapters: [acme.enc, acme.gpu]\n",
    "/v1/configs/export": json.dumps(EXPORT).encode(),
}


@attrs.define
class Service:
    """A scripted config service. `instead` answers in place of the good replies."""

    instead: Answer | None = None
    requests: list[httpx2.Request] = attrs.field(factory=list)

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if self.instead is not None:
            return self.instead(request)
        content = REPLIES.get(request.url.path)
        return httpx2.Response(404 if content is None else 200, content=content)

    @property
    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.MockTransport(self)


async def read_epoch(authority: Authority) -> object:
    return await authority.read_epoch()


async def read_bundles(authority: Authority) -> object:
    return await authority.read_bundles()


async def read_export(authority: Authority) -> object:
    return await authority.read_export()


every_call = pytest.mark.parametrize("call", [read_epoch, read_bundles, read_export])


async def test_the_epoch_is_read() -> None:
    async with open_http_authority(URL, None, transport=Service().transport) as authority:
        assert await authority.read_epoch() == EpochReply(epoch=3, bundles_hash="ab")


async def test_bundles_are_listed_and_then_read_one_by_one() -> None:
    service = Service()
    async with open_http_authority(URL, None, transport=service.transport) as authority:
        assert await authority.read_bundles() == (
            Bundle(BundleName("default"), ("acme.enc",), 10),
            Bundle(BundleName("gpu.1"), ("acme.enc", "acme.gpu"), 100),
        )
    assert [request.url.path for request in service.requests] == [
        "/v1/configs/bundles",
        "/v1/configs/bundles/default",
        "/v1/configs/bundles/gpu.1",
    ]


async def test_the_export_is_read() -> None:
    async with open_http_authority(URL, None, transport=Service().transport) as authority:
        export = await authority.read_export()
    assert export.epoch == 3
    assert [row.model_config for row in export.models] == [{"sie_id": "a/b", "profiles": {}}]


@every_call
async def test_every_call_shows_the_token_as_a_bearer(call: Call) -> None:
    service = Service()
    async with open_http_authority(URL, "s3cret", transport=service.transport) as authority:
        await call(authority)
    assert {request.headers["Authorization"] for request in service.requests} == {"Bearer s3cret"}
    assert {request.method for request in service.requests} == {"GET"}


@pytest.mark.parametrize("token", [None, ""])
async def test_without_a_token_no_header_is_sent(token: str | None) -> None:
    service = Service()
    async with open_http_authority(URL, token, transport=service.transport) as authority:
        await authority.read_epoch()
    assert "Authorization" not in service.requests[0].headers


def status(code: int, **headers: str) -> Answer:
    """A body that would do, so that it is the status which is refused."""
    return lambda request: httpx2.Response(code, headers=headers, content=REPLIES[request.url.path])


def content(data: bytes) -> Answer:
    return lambda _: httpx2.Response(200, content=data)


def raising(kind: type[httpx2.TransportError]) -> Answer:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise kind("no", request=request)

    return answer


FAILURES: Mapping[str, Answer] = {
    "401": status(401),
    "404": status(404),
    "500": status(500),
    "503": status(503),
    "redirect": status(302, Location="http://elsewhere/"),
    "refused": raising(httpx2.ConnectError),
    "timeout": raising(httpx2.ReadTimeout),
    "broken": raising(httpx2.RemoteProtocolError),
    "empty": content(b""),
    "no json": content(b"<html>"),
    "no utf-8": content(b"\xff\xfe\xfa"),
    "null": content(b"null"),
    "wrong types": content(b'{"epoch": "3", "bundles": {}, "models": 7}'),
    "missing": content(b"{}"),
    "deep": content(b"[" * 100_000),
    "number": content(b'{"epoch": ' + b"9" * 10_000 + b"}"),
}


@every_call
@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_every_failure_is_an_authority_error_that_names_the_path(call: Call, answer: Answer) -> None:
    async with open_http_authority(URL, "s3cret", transport=Service(answer).transport) as authority:
        with pytest.raises(AuthorityError, match=r"^GET /v1/configs/\w+: .") as told:
            await call(authority)
    assert "s3cret" not in str(told.value)


@pytest.mark.parametrize("body", [b"engine: jax", b"a: [", b"- 1", b"\xff", b"name: a b"])
async def test_one_bad_bundle_fails_the_read_of_bundles(body: bytes) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        bad = request.url.path.endswith("gpu.1")
        return httpx2.Response(200, content=body if bad else REPLIES[request.url.path])

    async with open_http_authority(URL, None, transport=Service(answer).transport) as authority:
        with pytest.raises(AuthorityError, match=r"^GET /v1/configs/bundles/gpu\.1: "):
            await authority.read_bundles()


async def test_a_bundle_id_cannot_lead_to_another_path() -> None:
    listed = {"bundles": [{"bundle_id": "../export?x=1#y"}]}
    service = Service(lambda _: httpx2.Response(200, content=json.dumps(listed).encode()))
    async with open_http_authority(URL, None, transport=service.transport) as authority:
        with pytest.raises(AuthorityError):
            await authority.read_bundles()
    assert service.requests[-1].url.raw_path == b"/v1/configs/bundles/..%2Fexport%3Fx%3D1%23y"


async def test_a_call_that_never_ends_is_given_up_after_its_bound(autojump_clock: MockClock) -> None:
    async def never(_: httpx2.Request) -> httpx2.Response:
        await trio.sleep_forever()
        raise AssertionError("unreachable")

    async with open_http_authority(URL, None, transport=httpx2.MockTransport(never)) as authority:
        with pytest.raises(AuthorityError, match=r"^GET /v1/configs/epoch: TooSlowError"):
            await authority.read_epoch()
    assert trio.current_time() >= CALL_TIMEOUT_S
