"""What does the export of 10,000 models cost, and does anybody wait for it (`ci/bench config`)?

The export takes no lock at all: epoch and models are one immutable pair, which a write replaces, so what there is to
measure is the sending. Its peer is the same server with the same bytes made beforehand, in turns with it. Every export
comes after a write of one of the models, so that none is of what was exported before.
"""

import http
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from ci.lib.bench_config_models import model_id, model_text, models
from ci.lib.bench_config_prepared import PREPARED
from ci.lib.bench_config_service import Caller, Service, ended, lay_out, running_config
from ci.lib.bench_figure import Figure
from ci.lib.demo_system import NotReady
from ci.lib.environment import ROOT
from sie.cli.child import dies_with
from sie.cli.ports import LOOPBACK, free_ports

MODELS = 10_000
EXPORT = "/v1/configs/export"
FIRST_BYTE_LIMIT_MS = 50.0
WHOLE_LIMIT = 1.3
WAIT_LIMIT_MS = 20.0
"""Of another request, while exports are sent one after the other."""
BESIDE = 5
"""Exports in a row that others ask beside."""
PAIRS = 21
QUICK_PAIRS = 9
READY_WITHIN_S = 30.0


@attrs.frozen
class Pair:
    """One export and one sending of the same bytes, one after the other. `waits_s` are other requests' meanwhile."""

    first_s: float
    whole_s: float
    prepared_s: float
    waits_s: tuple[float, ...]


def export_figures(quick: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="sie-bench-") as name:
        folder = Path(name)
        lay_out(folder, models(MODELS))
        with running_config(folder) as service:
            pairs, size = measured(service, QUICK_PAIRS if quick else PAIRS)
    first_ms = [1000 * pair.first_s for pair in pairs]
    yield Figure(
        *("config", "export_first_byte", min(first_ms), FIRST_BYTE_LIMIT_MS, "ms"),
        {"runs": rounded(first_ms), "models": MODELS, "lock": "none is taken"},
    )
    export_s, prepared_s = [pair.whole_s for pair in pairs], [pair.prepared_s for pair in pairs]
    details = {
        "of": "the best of each",
        "of_medians": round(statistics.median(export_s) / statistics.median(prepared_s), 3),
        "export_s": rounded(export_s),
        "prepared_s": rounded(prepared_s),
        "bytes": size,
    }
    yield Figure("config", "export_over_prepared", min(export_s) / min(prepared_s), WHOLE_LIMIT, "ratio", details)
    longest_ms = [1000 * max(pair.waits_s, default=math.inf) for pair in pairs]
    yield Figure(
        *("config", "wait_during_exports", min(longest_ms), WAIT_LIMIT_MS, "ms"),
        {"runs": rounded(longest_ms), "answered": [len(pair.waits_s) for pair in pairs], "exports": BESIDE},
    )


def measured(service: Service, count: int) -> tuple[list[Pair], int]:
    """The pairs, and how many bytes an export has."""
    body = service.ask("GET", EXPORT).body
    with prepared(service.folder, body) as other, service.caller() as caller:
        return [one_pair(service, caller, other, number) for number in range(count)], len(body)


def one_pair(service: Service, caller: Caller, other: Caller, number: int) -> Pair:
    """Each alone for its time; then once more with other requests beside it, for their wait."""
    change = f"{model_text(number)}  another: {{extends: default}}\n".encode()
    assert caller.ask("PUT", f"/v1/configs/models/{model_id(number)}", change).status == http.HTTPStatus.OK
    export, sent = caller.ask("GET", EXPORT), other.ask("GET", PREPARED)
    assert (export.status, sent.status) == (http.HTTPStatus.OK, http.HTTPStatus.OK)
    assert len(export.body) >= len(sent.body)
    with asking_beside(service) as waits_s:
        for _ in range(BESIDE):
            caller.ask("GET", EXPORT)
    return Pair(export.first_s, export.whole_s, sent.whole_s, tuple(waits_s))


@contextmanager
def asking_beside(service: Service) -> Iterator[list[float]]:
    """Fills the list with how long each request took that was answered during the block."""
    waits_s: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with service.caller() as caller:
            while not over.is_set():
                waits_s.append(caller.ask("GET", "/healthz").whole_s)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits_s
    finally:
        over.set()
        thread.join()


@contextmanager
def prepared(folder: Path, body: bytes) -> Iterator[Caller]:
    (folder / "body").write_bytes(body)
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [sys.executable, "-m", "ci.lib.bench_config_prepared", str(port), str(folder / "body")],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        preexec_fn=dies_with(os.getpid()),  # noqa: PLW1509 -- two system calls; nothing that could hold a lock
    )
    caller = Caller(port)
    try:
        await_answer(caller)
        yield caller
    finally:
        caller.close()
        ended(process)


def await_answer(caller: Caller) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        with suppress(OSError):
            caller.ask("GET", PREPARED)
            return
        time.sleep(0.02)
    raise NotReady(f"the server of prepared bytes on {LOOPBACK}:{caller.port} was not ready")


def rounded(values: list[float]) -> list[float]:
    return [round(value, 3) for value in values]
