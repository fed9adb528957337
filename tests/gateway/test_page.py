"""`GET /`: the page for people, whatever workers call themselves (§14)."""

import json
import re
from html.parser import HTMLParser

import trio
from trio.testing import MockClock

from tests.gateway.doubles import MODEL, open_gateway

EVIL = "<script>alert('x')</script>\"&"


class Tags(HTMLParser):
    """Every tag with its attributes, and all text outside script and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in {"script", "style"} and data.strip():
            self.texts.append(data.strip())


async def test_the_page_shows_the_cluster_without_its_script(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        reply = await gateway.client.get("/")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    texts = Tags(reply.text).texts
    for told in ("SIE Gateway", "Healthy: the worker takes work", "w1", MODEL, "loaded", "current", "healthy"):
        assert told in texts
    assert any("Reload the page" in text for text in texts)


async def test_all_that_comes_from_workers_is_escaped(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        models = [{"name": f"m{EVIL}", "state": EVIL, "error": EVIL}]
        gateway.beat(name=f"http://{EVIL}", models=models, device=EVIL, gpus=[{"gpu_type": EVIL}])
        page = Tags((await gateway.client.get("/")).text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert f"m{EVIL}" in page.texts


async def test_script_and_style_are_allowed_by_their_hashes_and_no_other_host_is_reached(
    autojump_clock: MockClock,
) -> None:
    async with open_gateway() as gateway:
        reply = await gateway.client.get("/")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert len(re.findall(r"'sha256-[A-Za-z0-9+/]{43}='", policy)) == 2
    tags = Tags(reply.text).tags
    links = [value or "" for _, attributes in tags for name, value in attributes.items() if name in {"src", "href"}]
    assert links
    assert not [link for link in links if "//" in link]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"]


async def test_what_the_page_hears_each_second_is_what_it_was_written_with(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway, gateway.server.socket("/ws/status-page") as socket:
        await trio.sleep(0.5)
        view = json.loads(socket.frames[0])
        texts = Tags((await gateway.client.get("/")).text).texts
    assert view["status"] in texts
    assert all(name in texts and value in texts for name, value in view["figures"])
    assert all(text in texts for row in (*view["workers"], *view["models"]) for text, _ in row if text)


async def test_an_empty_cluster_is_told_in_words(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        texts = Tags((await gateway.client.get("/")).text).texts
    assert "Degraded: no worker takes work" in texts
    assert any("No worker is heard of" in text for text in texts)
