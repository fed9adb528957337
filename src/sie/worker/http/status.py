"""The worker's own endpoint (§14, wire-facts 1.11): probes, its status, and the same as a WebSocket for gateways and
people that watch it. Nobody is asked for a token: what is told here every heartbeat tells, too.
"""

from collections.abc import Callable
from functools import partial

import attrs
import orjson
import trio

from sie.web.bodies import json_reply, text_reply
from sie.web.feed import Feed
from sie.web.routes import Reply, Request, Route, SocketRoute
from sie.worker.core.report import Document

FRAME_S = 0.2
UNAVAILABLE = 503


@attrs.frozen
class Views:
    """`unready` says why the worker takes no work, `frame` what a heartbeat says, `whole` all that there is to say."""

    unready: Callable[[], str | None]
    frame: Callable[[], Document]
    whole: Callable[[], Document]


def routes(views: Views) -> tuple[Route, ...]:
    return (
        Route("GET", "/healthz", healthz),
        Route("GET", "/readyz", partial(readyz, views)),
        Route("GET", "/status", partial(status, views)),
    )


def sockets(views: Views, ends: trio.Event) -> tuple[SocketRoute, ...]:
    """Each reader is told one last frame once `ends` is set."""
    return (SocketRoute("/ws/status", Feed(partial(text_of, views), FRAME_S, ends).tell),)


async def healthz(_: Request) -> Reply:
    """The loop turns: nothing else is asked, so that warming up is no reason to be killed (expectation 18)."""
    return text_reply("ok")


async def readyz(views: Views, _: Request) -> Reply:
    reason = views.unready()
    return text_reply("ok") if reason is None else text_reply(reason, status=UNAVAILABLE)


async def status(views: Views, _: Request) -> Reply:
    return json_reply(views.whole())


def text_of(views: Views) -> str:
    return orjson.dumps(views.frame()).decode()
