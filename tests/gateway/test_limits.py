"""What a body may hold (§2, wire-facts 1.2): one that is deeper or longer than it may be costs nothing and is told."""

import pytest
from trio.testing import MockClock

from tests.gateway.doubles import MODEL, open_gateway

JSON, MSGPACK = "application/json", "application/msgpack"


@pytest.mark.parametrize(
    ("body", "kind", "named"),
    [
        (b"[" * 100_000, JSON, "depth limit"),
        (b'{"items":' + b"[" * 5000 + b"]" * 5000 + b"}", JSON, "depth limit"),
        (b"\xdd\xff\xff\xff\xff", MSGPACK, "4294967295"),
        (b"\xdf\xff\xff\xff\xff", MSGPACK, "4294967295"),
        (b"\xc6\xff\xff\xff\xff", MSGPACK, "incomplete"),
        (b"\xdb\xff\xff\xff\xff", MSGPACK, "incomplete"),
        (b"\x91" * 100_000, MSGPACK, "nested deeper than"),
        (b"\x81\xa5items" + b"\x91" * 1500 + b"\xc0", MSGPACK, "nested deeper than"),
        (b"", MSGPACK, "incomplete"),
        (b"\xc1", MSGPACK, "a byte that begins no value"),
    ],
    ids=range(10),
)
async def test_a_body_that_is_too_deep_or_claims_too_much_is_400(
    body: bytes, kind: str, named: str, autojump_clock: MockClock
) -> None:
    async with open_gateway() as gateway:
        reply = await gateway.client.post(f"/v1/encode/{MODEL}", content=body, headers={"content-type": kind})
        assert not gateway.bus.work
    assert reply.status_code == 400
    assert reply.json()["detail"]["code"] == "INVALID_REQUEST"
    assert named in reply.json()["detail"]["message"]
