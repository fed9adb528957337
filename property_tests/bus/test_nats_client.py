"""However a broker's words arrive, our parser tells what nats-py's own tells, in the same order (§8)."""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from nats.errors import ProtocolError
from nats.protocol.parser import Parser

from sie.bus.api import Message
from sie.bus.nats_client import LeanClient

OURS = (1, 22)
Seen = tuple[object, ...]


class Noting(LeanClient):
    """A client that notes what its parser tells it; what came to a receiver reads as what came to nats-py."""

    def __init__(self, ours: Iterable[int]) -> None:
        super().__init__()
        self.seen: list[Seen] = []
        self.received = 0
        for number in ours:
            self.receivers[number] = partial(self.receive, number)

    def receive(self, number: int, message: Message) -> None:
        assert not message.headers
        self.received += 1
        self.seen.append((number, message.subject.encode(), message.reply.encode(), message.data, None))

    async def _process_msg(self, *told: object) -> None:
        self.seen.append(told)

    async def _process_ping(self) -> None:
        self.seen.append(("ping",))

    async def _process_pong(self) -> None:
        self.seen.append(("pong",))

    async def _process_err(self, *told: object) -> None:
        self.seen.append(("err", *told))

    async def _process_info(self, *told: object) -> None:
        self.seen.append(("info", *told))


def message(number: int, subject: str, reply: str, data: bytes) -> bytes:
    return b"".join((f"MSG {subject} {number} {reply and reply + ' '}{len(data)}\r\n".encode(), data, b"\r\n"))


def with_header(number: int, subject: str, reply: str, data: bytes) -> bytes:
    block = b"NATS/1.0\r\nA: b\r\n\r\n"
    head = f"HMSG {subject} {number} {reply and reply + ' '}{len(block)} {len(block) + len(data)}\r\n"
    return b"".join((head.encode(), block, data, b"\r\n"))


NUMBERS = st.sampled_from([*OURS, 3])
SUBJECTS = st.text("abMSG_.$é1", min_size=1, max_size=12)
DATA = st.binary(max_size=40) | st.sampled_from([b"\r\n", b"MSG a 1 2\r\nhi\r\n", b"PING\r\n", bytes(9000)])
MESSAGE = (NUMBERS, SUBJECTS, st.just("") | SUBJECTS, DATA)
OTHER = st.sampled_from(
    [
        b"PING\r\n",
        b"PONG\r\n",
        b"+OK\r\n",
        b"-ERR 'Slow Consumer'\r\n",
        b'INFO {"max_payload": 7}\r\n',
        b"MSG a\t1 0\r\n\r\n",
    ]
)
WIRES = st.lists(st.builds(message, *MESSAGE) | st.builds(with_header, *MESSAGE) | OTHER, max_size=12).map(b"".join)


@st.composite
def in_pieces(draw: st.DrawFn) -> list[bytes]:
    """Cut anywhere, and ended anywhere; often within the end of a line, or so that a piece begins as a message does."""
    wire = draw(WIRES)
    edges = [0, *(found.start() + 1 for found in re.finditer(rb"HMSG|\r\n", wire))]
    cuts = sorted(draw(st.lists(st.sampled_from(edges) | st.integers(0, len(wire)), min_size=1, max_size=8)))
    return [wire[begin:end] for begin, end in pairwise([0, *cuts])]


def told(parser: Parser, pieces: Sequence[bytes]) -> None:
    async def feed() -> None:
        for piece in pieces:
            await parser.parse(piece)

    trio.run(feed)


@given(in_pieces())
def test_all_is_told_as_nats_py_tells_it(pieces: list[bytes]) -> None:
    lean, plain = Noting(OURS), Noting(())
    theirs = Parser(plain)
    told(lean._ps, pieces)
    told(theirs, pieces)
    assert lean.seen == plain.seen
    assert (lean._ps.buf, lean._ps.state) == (theirs.buf, theirs.state)


@given(st.lists(st.builds(message, st.sampled_from(OURS), *MESSAGE[1:]), max_size=6))
def test_what_is_ours_and_all_there_never_waits_in_the_parser(messages: list[bytes]) -> None:
    lean = Noting(OURS)
    told(lean._ps, [b"".join(messages)])
    assert lean.received == len(lean.seen) == len(messages)


@given(WIRES, st.sampled_from([b"HELLO\r\n", b"MSG a b c\r\n", b"MSG a 1\r\n"]))
def test_what_is_no_word_of_the_protocol_ends_it_after_the_same_messages(wire: bytes, odd: bytes) -> None:
    lean, plain = Noting(OURS), Noting(())
    for parser in (lean._ps, Parser(plain)):
        with pytest.raises(ProtocolError):
            told(parser, [wire + odd])
    assert lean.seen == plain.seen
