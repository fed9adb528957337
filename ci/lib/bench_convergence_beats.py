"""What does it cost a gateway to hear 1,000 workers (`ci/bench convergence`)? Each beats once in 2 s, evenly spread, as
workers that started whenever they did; the beats stand ready, and go over a real broker to a real gateway.
"""

import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from ci.lib.bench_config_models import model_id
from ci.lib.bench_config_service import Service, lay_out, running_broker
from ci.lib.bench_convergence_gateway import running_gateway
from ci.lib.bench_figure import Figure
from ci.lib.bench_idle import cpu_s
from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.worker import HEARTBEAT_INTERVAL_S, ModelState, WorkerStatus
from sie.wire.heartbeat import encode_heartbeat

WORKERS = 1_000
CORE_LIMIT_PERCENT = 10.0
WINDOW_S = 6.0
QUICK_WINDOW_S = 4.0
ROUNDS = 3
LANE = Lane(PoolName("default"), MachineProfile("l4"), BundleName("alpha"))
LOADED = 3
"""Models that each worker tells of."""


def beat_figures(quick: bool) -> Iterator[Figure]:
    window_s = QUICK_WINDOW_S if quick else WINDOW_S
    with tempfile.TemporaryDirectory(prefix="sie-bench-") as name, running_broker(Path(name)) as nats_url:
        folder = Path(name)
        lay_out(folder)
        with running_gateway(folder, {"SIE_NATS_URL": nats_url}) as gateway, connected(nats_url) as link:
            beats = [beat(number) for number in range(WORKERS)]
            sent_for(link, beats, 2 * HEARTBEAT_INTERVAL_S)
            percents = [one_round(gateway, link, beats, window_s) for _ in range(ROUNDS)]
            heard = len(orjson.loads(gateway.ask("GET", "/health").body)["workers"])
    assert heard == WORKERS, heard
    yield Figure(
        *("convergence", "heartbeats_cpu", min(percents), CORE_LIMIT_PERCENT, "% of a core"),
        {"runs": [round(percent, 2) for percent in percents], "workers": WORKERS, "window_s": window_s},
    )


def one_round(gateway: Service, link: socket.socket, beats: Sequence[bytes], window_s: float) -> float:
    before, began = cpu_s({"gateway": gateway.pid}), time.monotonic()
    sent = sent_for(link, beats, window_s)
    took_s = time.monotonic() - began
    assert sent >= WORKERS / HEARTBEAT_INTERVAL_S * window_s - 1, sent
    used_s = cpu_s({"gateway": gateway.pid})["gateway"] - before["gateway"]
    return 100 * used_s / took_s


def sent_for(link: socket.socket, beats: Sequence[bytes], window_s: float) -> int:
    """One at a time, each when it is due; what this process could not send in time goes out as soon as it can."""
    began, sent, apart_s = time.monotonic(), 0, HEARTBEAT_INTERVAL_S / len(beats)
    while (gone_s := time.monotonic() - began) < window_s or sent < window_s / apart_s - 1:
        if gone_s >= sent * apart_s:
            link.sendall(beats[sent % len(beats)])
            sent += 1
        else:
            time.sleep(sent * apart_s - gone_s)
    return sent


def connected(nats_url: str) -> socket.socket:
    """Speaks the broker's own protocol, so that this process has little to do for each beat. Answers no PING: the
    broker asks first after two minutes.
    """
    place = urlsplit(nats_url)
    deadline = time.monotonic() + 30
    while True:
        try:
            link = socket.create_connection((place.hostname, place.port or 4222), timeout=30)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            link.sendall(b'CONNECT {"verbose":false}\r\n')
            return link


def beat(number: int) -> bytes:
    worker = WorkerId(f"worker-{number}")
    models = tuple(ModelState(model_id(n), "loaded", "ready") for n in range(LOADED))
    data = encode_heartbeat(
        WorkerStatus(
            *(worker, LANE, "ab" * 32),
            ready=True,
            device="cuda:0",
            models=models,
            pending_items=3,
            timestamp_s=time.time(),
            gpu="l4",
            max_batch_requests=64,
            memory_used_bytes=10**10,
            memory_total_bytes=2 * 10**10,
        )
    )
    return b"PUB sie.health.%s %d\r\n%s\r\n" % (worker.encode(), len(data), data)
