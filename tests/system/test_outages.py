"""What is asked of the gateway while its surroundings are away, and when they are back (§4)? Real processes, started by
hand from the plan of `sie up`, since its supervisor would replace what is killed at once.

Away means for some seconds, several polls long; SYSTEM_AWAY_S=180 makes it minutes.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import attrs
import httpx2
import numpy as np
import pytest

from ci.lib.demo_model import cache_folder
from ci.lib.environment import ROOT
from sie.cli.child import Child, start_child
from sie.cli.folders import Folders
from sie.cli.logs import log_of
from sie.cli.plan import Plan, Ports, plan_up
from sie.cli.ports import free_ports
from sie.cli.programs import find_programs
from sie.cli.settings import DEFAULT_MODEL, UpSettings
from tests.system.driving import ANSWER_WITHIN_S, Vectors, until, vectors_of

AWAY_S = float(os.environ.get("SYSTEM_AWAY_S", "3"))
POLL_S = "1"
TEXTS = ["A cat sat on the mat.", "Ein Hund läuft durch den Wald."]
ANOTHER = "acme/another"
CONFIGS = "/v1/configs/models"
DOCUMENT = ROOT / "bundles" / "models" / f"{DEFAULT_MODEL.replace('/', '__')}.yaml"

pytestmark = pytest.mark.ceiling(300 + 4 * AWAY_S)


@attrs.define
class Parts:
    """Each part by its name in the plan; `lives` counts its starts."""

    plan: Plan
    folders: Folders
    running: dict[str, Child] = attrs.field(factory=dict)
    lives: dict[str, int] = attrs.field(factory=dict)

    def start(self, name: str) -> None:
        service = next(service for service in self.plan.services if service.name == name)
        self.lives[name] = self.lives.get(name, 0) + 1
        log = log_of(self.folders.logs, name)
        self.running[name] = start_child(service.argv, service.environ_of(self.lives[name]), log)

    def kill(self, name: str) -> None:
        self.running.pop(name).reap()

    def get(self, path: str) -> httpx2.Response:
        return httpx2.get(f"{self.plan.gateway_url}{path}", timeout=ANSWER_WITHIN_S)

    def encode(self) -> httpx2.Response:
        body = {"items": [{"text": text} for text in TEXTS]}
        return httpx2.post(f"{self.plan.gateway_url}/v1/encode/{DEFAULT_MODEL}", json=body, timeout=ANSWER_WITHIN_S)

    def answers(self) -> bool:
        return self.encode().status_code == 200

    def vectors(self) -> Vectors:
        return vectors_of(self.encode())

    def models(self) -> set[str]:
        return {model["name"] for model in self.get("/v1/models").json()["models"]}

    def status(self, model: str) -> Mapping[str, object]:
        status: Mapping[str, object] = self.get(f"{CONFIGS}/{model}/status").json()
        return status

    def write(self, model: str) -> None:
        text = DOCUMENT.read_text(encoding="utf-8").replace(f"sie_id: {DEFAULT_MODEL}", f"sie_id: {model}")
        reply = httpx2.post(f"{self.plan.config_url}{CONFIGS}", content=text, timeout=ANSWER_WITHIN_S)
        assert reply.status_code == 201, reply.text

    def delete(self, model: str) -> None:
        reply = httpx2.delete(f"{self.plan.config_url}{CONFIGS}/{model}", timeout=ANSWER_WITHIN_S)
        assert reply.is_success, reply.text

    def config_is_back(self) -> bool:
        return httpx2.get(f"{self.plan.config_url}/readyz", timeout=ANSWER_WITHIN_S).is_success


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    folders = Folders(tmp_path_factory.mktemp("outages"), cache_folder())
    folders.make()
    environ = {**os.environ, "SIE_GATEWAY_CONFIG_POLL_S": POLL_S}
    programs = find_programs(sys.executable, os.environ["PATH"])
    found = Parts(plan_up(UpSettings(), folders, Ports(*free_ports(3)), programs, environ), folders)
    try:
        for service in found.plan.services:
            found.start(service.name)
        until(found.answers)
        yield found
    finally:
        for child in found.running.values():
            child.reap()


def for_a_while() -> Iterator[None]:
    """Again and again until the outage has lasted long enough, at least once."""
    deadline = time.monotonic() + AWAY_S
    yield
    while time.monotonic() < deadline:
        time.sleep(0.1)
        yield


def test_requests_are_answered_as_ever_while_config_is_away(parts: Parts) -> None:
    models, expected, epoch = parts.models(), parts.vectors(), parts.status(DEFAULT_MODEL)["config_epoch"]
    parts.kill("config")
    for _ in for_a_while():
        np.testing.assert_array_equal(parts.vectors(), expected)
        assert parts.models() == models
        assert parts.get("/readyz").status_code == 200
    parts.start("config")
    until(parts.config_is_back)
    np.testing.assert_array_equal(parts.vectors(), expected)
    assert (parts.models(), parts.status(DEFAULT_MODEL)["config_epoch"]) == (models, epoch)


@pytest.mark.parametrize("victims", [["nats"], ["config", "nats"], ["nats", "config"]], ids="-".join)
def test_answers_are_the_same_once_the_broker_is_back(parts: Parts, victims: Sequence[str]) -> None:
    """Meanwhile what the gateway knows by itself is answered; what needs a worker is refused, and by its own code."""
    models, expected = parts.models(), parts.vectors()
    for victim in victims:
        parts.kill(victim)
    for _ in for_a_while():
        assert parts.models() == models
        reply = parts.encode()
        assert (reply.status_code, reply.headers["content-type"]) == (503, "application/json")
    parts.start("nats")
    until(parts.answers)
    np.testing.assert_array_equal(parts.vectors(), expected)
    assert parts.models() == models
    if "config" in victims:
        parts.start("config")
        until(parts.config_is_back)
        np.testing.assert_array_equal(parts.vectors(), expected)
        assert parts.models() == models


def test_a_written_model_is_served_acked_and_taken_away_again(parts: Parts) -> None:
    until(parts.config_is_back)
    parts.write(ANOTHER)
    until(lambda: ANOTHER in parts.models())
    until(lambda: parts.status(ANOTHER)["all_bundles_acked"])
    assert parts.get(f"{CONFIGS}/{ANOTHER}").status_code == 200
    parts.delete(ANOTHER)
    until(lambda: ANOTHER not in parts.models())
    assert parts.get(f"{CONFIGS}/{ANOTHER}").status_code == 404
    until(lambda: parts.status(DEFAULT_MODEL)["all_bundles_acked"])
    assert parts.answers()


def test_a_config_service_that_lost_its_store_is_followed_back(parts: Parts) -> None:
    """Its epoch is then lower, and models are gone that were only there (§4.2)."""
    expected = parts.vectors()
    parts.write(ANOTHER)
    until(lambda: ANOTHER in parts.models())
    before = parts.status(DEFAULT_MODEL)["config_epoch"]
    parts.kill("config")
    shutil.rmtree(parts.folders.config)
    parts.folders.make()
    parts.start("config")
    until(lambda: ANOTHER not in parts.models())
    after = parts.status(DEFAULT_MODEL)["config_epoch"]
    assert isinstance(before, int)
    assert isinstance(after, int)
    assert after < before
    assert DEFAULT_MODEL in parts.models()
    until(lambda: parts.status(DEFAULT_MODEL)["all_bundles_acked"])
    np.testing.assert_array_equal(parts.vectors(), expected)
