"""`/ws/cluster-status` (§14, wire-facts 4.2): the state of the cluster as one JSON text frame a second."""

from functools import partial

import orjson

from sie.gateway.http.services import Services
from sie.web.feed import Feed
from sie.web.routes import SocketRoute

FRAME_S = 1.0


def sockets(services: Services) -> tuple[SocketRoute, ...]:
    feed = Feed(partial(frame_of, services), FRAME_S, services.machine.stop)
    return (SocketRoute("/ws/cluster-status", feed.tell),)


def frame_of(services: Services) -> str:
    """What `/health` answers, with the moment in unix seconds."""
    return orjson.dumps({"timestamp": services.machine.unix_s(), **services.health()}).decode()
