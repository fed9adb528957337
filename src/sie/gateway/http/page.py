"""`GET /` (§14): the cluster's state as a page for people, live while its socket is.

Everything shown is escaped; script and style are allowed by their hashes alone, and the page reaches no other host.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from importlib.resources import files
from string import Template

import attrs
import orjson
import trio

from sie.gateway.core.catalogue import Traffic
from sie.gateway.core.page_view import MODEL_HEADS, WORKER_HEADS, Cell, Kind, PageView, page_view
from sie.gateway.http.feed import FRAME_S
from sie.gateway.http.services import Services
from sie.web.feed import Feed
from sie.web.routes import Headers, Reply, Request, Route, SocketRoute

HTML_TYPE = "text/html; charset=utf-8"
SOCKET_PATH = "/ws/status-page"
"""What the page shows, each second, so that its words are made in one place: here."""


@attrs.frozen
class Parts:
    """The page's files, as they are installed."""

    template: Template
    style: str
    script: str

    @property
    def headers(self) -> Headers:
        policy = (
            "default-src 'none'",
            f"script-src {_hash_of(self.script)}",
            f"style-src {_hash_of(self.style)}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
        return (
            ("Content-Security-Policy", "; ".join(policy)),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        )


def load_parts() -> Parts:
    folder = files("sie.gateway.http")
    html, css, script = (folder.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    return Parts(Template(html), css, script)


def routes(services: Services) -> tuple[Route, ...]:
    return (Route("GET", "/", partial(page, services, load_parts())),)


def sockets(services: Services) -> tuple[SocketRoute, ...]:
    feed = Feed(partial(frame_of, services), FRAME_S, services.machine.stop)
    return (SocketRoute(SOCKET_PATH, feed.tell),)


async def page(services: Services, parts: Parts, _: Request) -> Reply:
    return Reply(200, render(parts, view_of(services)).encode(), HTML_TYPE, parts.headers)


def frame_of(services: Services) -> str:
    return orjson.dumps(attrs.asdict(view_of(services), recurse=False)).decode()


def view_of(services: Services) -> PageView:
    workers = services.workers()
    at = datetime.fromtimestamp(services.machine.unix_s(), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    traffic = Traffic(len(services.dispatcher.pending), services.rate.per_second(trio.current_time()))
    return page_view(at, workers, services.replica, traffic, services.saturated(workers))


def render(parts: Parts, view: PageView) -> str:
    return parts.template.substitute(
        style=parts.style,
        script=parts.script,
        status=escape(view.status),
        at=escape(view.at),
        figures="".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in view.figures),
        worker_heads=_heads(WORKER_HEADS),
        model_heads=_heads(MODEL_HEADS),
        workers=_rows(view.workers, view.no_workers, len(WORKER_HEADS)),
        models=_rows(view.models, view.no_models, len(MODEL_HEADS)),
    )


def _heads(heads: Iterable[tuple[str, Kind]]) -> str:
    return "".join(f'<th scope="col" class="{kind}">{escape(text)}</th>' for text, kind in heads)


def _rows(rows: Sequence[Sequence[Cell]], empty: str, width: int) -> str:
    if not rows:
        return f'<tr><td class="none" colspan="{width}">{escape(empty)}</td></tr>'
    return "".join(f"<tr>{''.join(_cell(text, kind) for text, kind in row)}</tr>" for row in rows)


def _cell(text: str, kind: Kind) -> str:
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
