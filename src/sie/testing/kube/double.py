"""How is the model served? As an ASGI application: over a real port, or in process for a simulation with its own clock.

Users, roles and faults are met here, before and after the face.
"""

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl

import attrs
import trio
from hypercorn.typing import (
    ASGIReceiveCallable,
    ASGISendCallable,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    HTTPScope,
    Scope,
)

from sie.testing.kube.asking import Asked, Request, understood
from sie.testing.kube.face import Answer, Face, Watching
from sie.testing.kube.faults import Delay, Fault, Faults, Garble, Hang, LoseAnswer, Mute, Refuse
from sie.testing.kube.model import KubeModel
from sie.testing.kube.refusing import Refused, status
from sie.testing.kube.streaming import Cut, Stream

MAX_BODY_BYTES = 3 << 20
REMEMBERED = 10_000

Rule = tuple[str, str]
"""A verb and a resource's plural, as a role grants them."""


@attrs.define(eq=False)
class KubeDouble:
    """An ASGI application. `users` maps each token to what its role grants, None for everything; an empty one lets
    everybody in. `asked` holds the last requests.
    """

    model: KubeModel
    bookmark_s: float = 30.0
    faults: Faults = attrs.field(factory=Faults, init=False)
    users: dict[str, frozenset[Rule] | None] = attrs.field(factory=dict, init=False)
    asked: deque[Asked] = attrs.field(factory=lambda: deque(maxlen=REMEMBERED), init=False)
    _streams: list[Stream] = attrs.field(factory=list, init=False)
    _face: Face = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._face = Face(self.model)

    @property
    def watches(self) -> int:
        """In progress."""
        return len(self._streams)

    def cut_watches(self) -> None:
        """Every one ends in the middle of a line."""
        for stream in self._streams:
            stream.cut()

    def expire_watches(self) -> None:
        """Every one ends with an ERROR event of code 410."""
        for stream in self._streams:
            stream.expire()

    def mute_watches(self) -> None:
        """Every one stays open, and tells nothing any more."""
        for stream in self._streams:
            stream.mute()

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._serve(await _request_of(scope, receive), receive, send)

    async def _serve(self, request: Request, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        fault: Fault | None = None
        try:
            asked = self._admitted(request)
            fault = self.faults.take(asked)
            answer = self._face.answer(request, asked) if not isinstance(fault, Refuse | Hang) else _refusal(fault)
        except Refused as refused:
            answer = Answer(refused.code, refused.status)
        await _endure(fault)
        if isinstance(answer, Answer):
            await _send_answer(send, answer, garbled=isinstance(fault, Garble))
        else:
            await self._stream(answer, receive, send, muted=isinstance(fault, Mute))

    def _admitted(self, request: Request) -> Asked:
        """Raises Refused."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.users and token not in self.users:
            raise Refused(401, "Unauthorized")
        asked = understood(request)
        if asked is None:
            raise Refused(404, "the server could not find the requested resource")
        granted = self.users.get(token)
        if granted is not None and asked.resource and (asked.verb, asked.resource.plural) not in granted:
            what = f'User cannot {asked.verb} resource "{asked.resource.plural}" in the namespace "{asked.namespace}"'
            raise Refused(403, what)
        if len(request.body) > MAX_BODY_BYTES:
            raise Refused(413, f"the body of the request has more than {MAX_BODY_BYTES} bytes")
        self.asked.append(asked)
        return asked

    async def _stream(
        self, watching: Watching, receive: ASGIReceiveCallable, send: ASGISendCallable, *, muted: bool
    ) -> None:
        """Until its end, or until the client is gone."""

        async def piece(data: bytes) -> None:
            await send(HTTPResponseBodyEvent(type="http.response.body", body=data, more_body=True))

        await send(_start(200))
        with self._open(Stream(self.model, watching, self.bookmark_s, muted=muted)) as stream:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_until_gone, receive, nursery.cancel_scope)
                if muted:
                    await trio.sleep_forever()
                await stream.run(piece)
                nursery.cancel_scope.cancel()
        if stream.is_cut:
            raise Cut
        await send(HTTPResponseBodyEvent(type="http.response.body", body=b"", more_body=False))

    @contextmanager
    def _open(self, stream: Stream) -> Iterator[Stream]:
        self._streams.append(stream)
        self.model.woken.append(stream.wake)
        try:
            yield stream
        finally:
            self._streams.remove(stream)
            self.model.woken.remove(stream.wake)


def _refusal(fault: Refuse | Hang) -> Answer:
    if isinstance(fault, Hang):
        return Answer(500, {})
    headers = (("Retry-After", fault.retry_after),) if fault.retry_after is not None else ()
    return Answer(fault.code, status(fault.code, "a fault of the double"), headers)


async def _endure(fault: Fault | None) -> None:
    match fault:
        case Delay(by_s):
            await trio.sleep(by_s)
        case Hang():
            await trio.sleep_forever()
        case LoseAnswer():
            raise Cut
        case Refuse() | Garble() | Mute() | None:
            pass


async def _until_gone(receive: ASGIReceiveCallable, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _live(receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def _request_of(scope: HTTPScope, receive: ASGIReceiveCallable) -> Request:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    body = b""
    while True:
        event = await receive()
        if event["type"] != "http.request":
            break
        body += event["body"]
        if not event["more_body"] or len(body) > MAX_BODY_BYTES:
            break
    return Request(scope["method"], scope["path"], query, headers, body)


async def _send_answer(send: ASGISendCallable, answer: Answer, *, garbled: bool) -> None:
    body = b"<html>" if garbled else json.dumps(answer.body).encode()
    await send(_start(answer.code, *answer.headers, ("Content-Length", str(len(body)))))
    await send(HTTPResponseBodyEvent(type="http.response.body", body=body, more_body=False))


def _start(code: int, *headers: tuple[str, str]) -> HTTPResponseStartEvent:
    told = [("Content-Type", "application/json"), *headers]
    encoded = [(name.lower().encode(), value.encode()) for name, value in told]
    return HTTPResponseStartEvent(type="http.response.start", status=code, headers=encoded)
