"""What does a write cost beside the disk, and does the loop stand still for it (`ci/bench config`)?

The peer is what the reference's write keeps, done bare on the same disk in turns with it: two atomic file writes, of
the model and of the epoch. The service makes three, since its commit point is a file of its own (`head`).
"""

import http
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import attrs

from ci.lib.bench_config_models import model_id, model_text, models
from ci.lib.bench_config_service import Answer, Caller, Service, lay_out, running_broker, running_config
from ci.lib.bench_config_ticking import FILE, longest
from ci.lib.bench_figure import Figure

TICKING = ("ci.lib.bench_config_ticking",)
SIZES_MS = {1_000: 5.0, 10_000: 50.0}
"""Models in the registry, and what a write may cost there beyond the disk."""
DISK_FACTOR = 1.5
GAP_LIMIT_MS = 20.0
ROUNDS = 3
WRITES = 60
QUICK_WRITES = 20
CONNECTED_WITHIN_S = 30.0


@attrs.frozen
class Round:
    """Medians, and when the writes were: on the machine's monotonic clock. `queued_ms` is how long, for each write, the
    service's threads stood ready while other programs had the processors: what a quiet machine would not add.
    """

    write_ms: float
    disk_ms: float
    queued_ms: float
    began: float
    ended: float

    @property
    def over_ms(self) -> float:
        return self.write_ms - DISK_FACTOR * self.disk_ms


def write_figures(quick: bool) -> Iterator[Figure]:
    for count, allowance_ms in SIZES_MS.items():
        rounds, gaps = measured(count, QUICK_WRITES if quick else WRITES)
        best = min(rounds, key=lambda taken: taken.over_ms)
        yield Figure(
            *("config", f"write_at_{count}", best.write_ms, DISK_FACTOR * best.disk_ms + allowance_ms, "ms"),
            {
                "limit_is": f"{DISK_FACTOR} x two atomic file writes + {allowance_ms:g} ms",
                "two_files_ms": rounded([taken.disk_ms for taken in rounds]),
                "writes_ms": rounded([taken.write_ms for taken in rounds]),
                "waited_for_a_processor_ms": rounded([taken.queued_ms for taken in rounds]),
            },
        )
        longest_ms = [1000 * longest(gaps, taken.began, taken.ended) for taken in rounds]
        yield Figure(
            *("config", f"longest_gap_at_{count}", min(longest_ms), GAP_LIMIT_MS, "ms"),
            {"runs": rounded(longest_ms), "of": "the loop's ticks during the writes; below 4 ms none is noted"},
        )


def measured(count: int, writes: int) -> tuple[list[Round], list[str]]:
    """The rounds, and every gap of the process's life."""
    with tempfile.TemporaryDirectory(prefix="sie-bench-") as name, running_broker(Path(name)) as nats_url:
        folder = Path(name)
        lay_out(folder, models(count))
        (folder / "bare").mkdir()
        gaps = folder / "gaps"
        variables = {"SIE_NATS_URL": nats_url, FILE: str(gaps)}
        with running_config(folder, variables, program=TICKING) as service, service.caller() as caller:
            connected(caller)
            numbers = iter(range(count, count + ROUNDS * writes))
            rounds = [one_round(service, caller, [next(numbers) for _ in range(writes)]) for _ in range(ROUNDS)]
            service.ask_to_stop()
            service.wait()
        return rounds, gaps.read_text(encoding="utf-8").splitlines()


def connected(caller: Caller) -> None:
    """Once the first write is taken, the service has its broker."""
    deadline = time.monotonic() + CONNECTED_WITHIN_S
    while (answer := written(caller, 99_999)).status != http.HTTPStatus.CREATED:
        assert time.monotonic() < deadline, answer.body
        time.sleep(0.05)


def one_round(service: Service, caller: Caller, numbers: list[int]) -> Round:
    began, queued_ms = time.monotonic(), queued_so_far_ms(service.pid)
    writes, disk = [], []
    for number in numbers:
        disk.append(two_files_ms(service.folder / "bare", number))
        answer = written(caller, number)
        assert (answer.status, b'"warnings":[]' in answer.body) == (http.HTTPStatus.CREATED, True), answer.body
        writes.append(1000 * answer.whole_s)
    queued_ms = (queued_so_far_ms(service.pid) - queued_ms) / len(numbers)
    return Round(statistics.median(writes), statistics.median(disk), queued_ms, began, time.monotonic())


def queued_so_far_ms(pid: int) -> float:
    """Of all threads that are alive: the second number of /proc/PID/task/TID/schedstat, in nanoseconds."""
    told = [path.read_text(encoding="utf-8") for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(line.split()[1]) for line in told) / 1e6


def written(caller: Caller, number: int) -> Answer:
    return caller.ask("POST", "/v1/configs/models", model_text(number).encode())


def two_files_ms(folder: Path, number: int) -> float:
    began = time.perf_counter()
    atomic_write(folder / f"{model_id(number).replace('/', '__')}.yaml", model_text(number).encode())
    atomic_write(folder / "epoch", str(number).encode())
    return 1000 * (time.perf_counter() - began)


def atomic_write(path: Path, data: bytes) -> None:
    """A file beside it, synced, renamed over it; then the folder synced."""
    with path.with_name(".writing").open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.with_name(".writing").replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def rounded(values: list[float]) -> list[float]:
    return [round(value, 2) for value in values]
