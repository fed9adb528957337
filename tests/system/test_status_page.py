"""The status page in a real browser (§14): it lives by its socket, obeys its own policy and reaches no other host."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest

from sie.cli.settings import DEFAULT_MODEL
from tests.system.driving import Driver

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="not run: there is no chromium on the PATH (Debian's package)")

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,800"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--virtual-time-budget=4000", "--enable-logging=stderr", "--log-level=0"),
)
PNG = b"\x89PNG\r\n"
LIMIT_S = 120.0


@attrs.frozen
class Browser:
    """Each visit has a profile of its own under `folder`; `said` is what the page's console said."""

    folder: Path

    def visit(self, url: str, *flags: str) -> tuple[str, list[str]]:
        profile = self.folder / f"profile-{len(list(self.folder.iterdir()))}"
        command = [CHROMIUM or "", *FLAGS, f"--user-data-dir={profile}", *flags, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def requests_of(net_log: Path, origin: str) -> Iterator[str]:
    """Every URL that a page of `origin` asked for, from the browser's own log of its network."""
    for event in json.loads(net_log.read_text(encoding="utf-8"))["events"]:
        params = event.get("params", {})
        if "url" in params and str(params.get("initiator", "")).rstrip("/") == origin:
            yield params["url"]


def test_the_page_lives_in_a_browser_and_keeps_a_picture(system: Driver, tmp_path: Path) -> None:
    browser, picture = Browser(tmp_path), tmp_path / "status.png"
    page, said = browser.visit(f"{system.system.gateway}/", "--dump-dom")
    browser.visit(f"{system.system.gateway}/", f"--screenshot={picture}")
    assert "Live. Last heard at" in page
    assert "Healthy: the worker takes work" in page
    assert DEFAULT_MODEL in page
    assert said == []
    assert picture.read_bytes().startswith(PNG)


def test_the_page_asks_its_own_gateway_and_nobody_else(system: Driver, tmp_path: Path) -> None:
    net_log, gateway = tmp_path / "net.json", urlsplit(system.system.gateway)
    Browser(tmp_path).visit(f"{system.system.gateway}/", f"--log-net-log={net_log}", "--dump-dom")
    asked = {urlsplit(url) for url in requests_of(net_log, f"http://{gateway.netloc}")}
    assert any(url.path == "/ws/status-page" for url in asked)
    assert {url.netloc for url in asked} == {gateway.netloc}
