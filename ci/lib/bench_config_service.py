"""The config service as a process of its own, on a free loopback port, for benches and system tests: started, killed,
started again on the same store.
"""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from ci.lib.demo_system import NotReady
from ci.lib.environment import ROOT
from sie.cli.child import dies_with
from sie.cli.ports import LOOPBACK, free_ports
from sie.testing.nats_server import server_program

READY_WITHIN_S = 120.0
STOPPED_WITHIN_S = 30.0
POLL_S = 0.02
ANSWER_WITHIN_S = 60.0
PRODUCT = ("sie.config",)
BUNDLE = "{name: alpha, priority: 10, adapters: [acme.enc]}\n"
_NOTHING: Mapping[str, str] = {}


@attrs.frozen
class Answer:
    """`first_s` and `whole_s` run from the request's first byte to the answer's first and last."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_s: float
    whole_s: float


@attrs.define(eq=False)
class Caller:
    """One connection that is kept open from request to request."""

    port: int
    _link: http.client.HTTPConnection | None = attrs.field(default=None, init=False)

    def ask(self, method: str, target: str, body: bytes | None = None, headers: Mapping[str, str] = _NOTHING) -> Answer:
        """`target` goes out as it is. Raises OSError or HTTPException when the service is not there or goes away."""
        link = self._link = self._link or http.client.HTTPConnection(LOOPBACK, self.port, timeout=ANSWER_WITHIN_S)
        began = time.perf_counter()
        try:
            link.request(method, target, body=body, headers=dict(headers))
            reply = link.getresponse()
            first_s = time.perf_counter() - began
            data = reply.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        named = {name.lower(): value for name, value in reply.getheaders()}
        return Answer(reply.status, named, data, first_s, time.perf_counter() - began)

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


@attrs.frozen
class Service:
    """A process that answers on `port`. `folder` holds its bundles, seeds and store."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def pid(self) -> int:
        return self.process.pid

    @contextmanager
    def caller(self) -> Iterator[Caller]:
        caller = Caller(self.port)
        try:
            yield caller
        finally:
            caller.close()

    def ask(self, method: str, target: str, body: bytes | None = None, headers: Mapping[str, str] = _NOTHING) -> Answer:
        """On a connection of its own."""
        with self.caller() as caller:
            return caller.ask(method, target, body, headers)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOPPED_WITHIN_S)

    def ask_to_stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Returns the exit code; raises TimeoutExpired."""
        return self.process.wait(STOPPED_WITHIN_S)


@contextmanager
def running_config(
    folder: Path, variables: Mapping[str, str] = _NOTHING, *, program: Sequence[str] = PRODUCT, log: str = "config.log"
) -> Iterator[Service]:
    """Over `folder`, which `lay_out` made; it restores its store. Raises NotReady."""
    (port,) = free_ports(1)
    with (folder / log).open("ab") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", *program, "serve", "--host", LOOPBACK, "--port", str(port)],
            cwd=ROOT,
            env={**_environ(folder), **variables},
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
            preexec_fn=dies_with(os.getpid()),  # noqa: PLW1509 -- two system calls; nothing that could hold a lock
        )
    service = Service(process, port, folder)
    try:
        _await_ready(service, folder / log)
        yield service
    finally:
        ended(process)


@contextmanager
def running_broker(folder: Path) -> Iterator[str]:
    """The URL of a nats-server of its own."""
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [str(server_program()), "-a", LOOPBACK, "-p", str(port), "-js", "-sd", str(folder / "nats")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=dies_with(os.getpid()),  # noqa: PLW1509 -- as above
    )
    try:
        yield f"nats://{LOOPBACK}:{port}"  # the service itself waits until it is up
    finally:
        ended(process)


def lay_out(folder: Path, models: Mapping[str, str] = _NOTHING) -> None:
    """One bundle, no seeds, and a store with these texts by model id, as an earlier service would have left it."""
    for name in ("bundles", "models", "store", "store/models"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "bundles" / "alpha.yaml").write_text(BUNDLE, encoding="utf-8")
    for model_id, text in models.items():
        (folder / "store" / "models" / f"{model_id.replace('/', '__')}.yaml").write_text(text, encoding="utf-8")


def _environ(folder: Path) -> Mapping[str, str]:
    """The caller's, without what would set the service up otherwise."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIE_")}
    own = {
        "SIE_BUNDLES_DIR": str(folder / "bundles"),
        "SIE_MODELS_DIR": str(folder / "models"),
        "SIE_CONFIG_STORE_DIR": str(folder / "store"),
        "SIE_CONFIG_RESTORE": "true",
    }
    return {**kept, **own}


def _await_ready(service: Service, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline and service.process.poll() is None:
        with suppress(OSError, http.client.HTTPException):
            if service.ask("GET", "/readyz").status == http.HTTPStatus.OK:
                return
        time.sleep(POLL_S)
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise NotReady(f"sie-config was not ready within {READY_WITHIN_S:g} s, or has ended:\n{tail}")


def ended(process: subprocess.Popen[bytes]) -> None:
    """Whatever state it is in: asked, and killed where that is not enough."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOPPED_WITHIN_S)
        raise
