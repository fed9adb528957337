"""TLS to an API server that really refuses: strange authorities, and clients without a certificate."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

import attrs
import trio
import trustme

from sie.kube.access import Access
from sie.kube.client import open_kube
from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.errors import Unavailable
from sie.testing.kube.served import open_kube_double
from tests.kube.opening import in_place, named

AUTHORITY = trustme.CA()
CA_PEM = AUTHORITY.cert_pem.bytes().decode()
CHUNK = 65_536


async def pump(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream, scope: trio.CancelScope) -> None:
    try:
        while data := await source.receive_some(CHUNK):
            await sink.send_all(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    scope.cancel()


async def relay(port: int, outside: trio.SSLStream[trio.SocketStream]) -> None:
    """Between a client with TLS and the double without."""
    async with outside, await trio.open_tcp_stream("127.0.0.1", port) as inside, trio.open_nursery() as nursery:
        nursery.start_soon(pump, outside, inside, nursery.cancel_scope)
        nursery.start_soon(pump, inside, outside, nursery.cancel_scope)


@asynccontextmanager
async def served_with_tls(*, client_certificates: bool = False) -> AsyncIterator[str]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert("localhost").configure_cert(context)
    if client_certificates:
        AUTHORITY.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    async with open_kube_double() as served, trio.open_nursery() as nursery:
        inside = urlsplit(served.url).port or 0
        listeners = await nursery.start(
            partial(trio.serve_ssl_over_tcp, partial(relay, inside), 0, context, host="127.0.0.1")
        )
        yield f"https://localhost:{listeners[0].transport_listener.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def works(access: Access) -> bool:
    async with open_kube(access, run_in_thread=in_place) as kube:
        try:
            return (await kube.create(CONFIG_MAPS, named("a"))).metadata.name == "a"
        except Unavailable:
            return False


async def test_the_authority_of_the_service_account_is_trusted_and_no_other() -> None:
    strange = trustme.CA().cert_pem.bytes().decode()
    async with served_with_tls() as url:
        assert not await works(Access(url, ca_pem=strange))
        assert not await works(Access(url))
        assert not await works(Access(url.replace("localhost", "127.0.0.1"), ca_pem=CA_PEM))
        assert await works(Access(url, ca_pem=CA_PEM))


async def test_insecure_asks_for_no_certificate() -> None:
    async with served_with_tls() as url:
        assert await works(Access(url.replace("localhost", "127.0.0.1"), insecure=True))


async def test_a_client_certificate_is_shown_where_it_is_asked_for() -> None:
    certificate = AUTHORITY.issue_cert("gateway")
    shown = Access(
        "",
        ca_pem=CA_PEM,
        client_certificate_pem=certificate.cert_chain_pems[0].bytes().decode(),
        client_key_pem=certificate.private_key_pem.bytes().decode(),
    )
    async with served_with_tls(client_certificates=True) as url:
        assert not await works(Access(url, ca_pem=CA_PEM))
        assert await works(attrs.evolve(shown, server=url))
