"""What does it cost a gateway to learn 10,000 models, in time, in memory, and to those who ask it meanwhile
(`ci/bench convergence`)? The authority is a real config service; the gateway starts after it.
"""

import http
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from ci.lib.bench_config_models import model_id, model_text, models
from ci.lib.bench_config_service import Service, lay_out, running_broker, running_config
from ci.lib.bench_config_ticking import FILE
from ci.lib.bench_convergence_gateway import await_models, catchings_up, running_gateway
from ci.lib.bench_figure import Figure
from ci.lib.bench_idle import kib_of

MODELS = 10_000
SECONDS_LIMIT = 3.0
RESIDENT_LIMIT_MB = 400.0
GAP_LIMIT_MS = 20.0
TICKING = ("ci.lib.bench_convergence_ticking",)
ROUNDS = 5
QUICK_ROUNDS = 3
SETTLED_S = 0.3
"""After a snapshot is built: what it replaced is let go of."""
BETWEEN = {"SIE_GATEWAY_CONFIG_POLL_S": "1", "SIE_NATS_CONFIG_TRUSTED_PRODUCERS": "nobody"}
"""Of writes the gateway hears by its poll alone, so that it reads everything again."""


@attrs.frozen
class Cold:
    """`took_s` runs from the first read of the config service until its models are served; `started_s` until then from
    the start of the process. Memory is VmHWM, the most that was ever resident.
    """

    took_s: float
    started_s: float
    resident_mb: float


@attrs.frozen
class Spell:
    """One catching up: the longest gap between two ticks in it, and how many of them were over the limit."""

    took_s: float
    longest_ms: float
    over: int


def bootstrap_figures(quick: bool) -> Iterator[Figure]:
    count = QUICK_ROUNDS if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="sie-bench-") as name, running_broker(Path(name)) as nats_url:
        folder = Path(name)
        lay_out(folder, models(MODELS))
        with running_config(folder, {"SIE_NATS_URL": nats_url}) as config:
            variables = {"SIE_NATS_URL": nats_url, "SIE_CONFIG_SERVICE_URL": f"http://127.0.0.1:{config.port}"}
            yield from cold_figures([one_start(folder, variables) for _ in range(count)])
            yield from gap_figures([one_following(config, variables, number) for number in range(count)])


def cold_figures(starts: Sequence[Cold]) -> Iterator[Figure]:
    took_s, resident_mb = [start.took_s for start in starts], [start.resident_mb for start in starts]
    yield Figure(
        *("convergence", "cold_bootstrap", min(took_s), SECONDS_LIMIT, "s"),
        {
            "of": "the best; from the first read of the config service until the models are served",
            "models": MODELS,
            "runs": rounded(took_s),
            "from_process_start_s": rounded([start.started_s for start in starts]),
        },
    )
    yield Figure(
        *("convergence", "cold_bootstrap_resident", max(resident_mb), RESIDENT_LIMIT_MB, "MB"),
        {"of": "the worst VmHWM", "runs": rounded(resident_mb)},
    )


def gap_figures(rounds: Sequence[tuple[Spell, Spell]]) -> Iterator[Figure]:
    for name, spells in zip(("first", "again"), zip(*rounds, strict=True), strict=True):
        longest_ms = [spell.longest_ms for spell in spells]
        yield Figure(
            *("convergence", f"longest_gap_{name}", min(longest_ms), GAP_LIMIT_MS, "ms"),
            {
                "of": "the best; ticks of the loop while everything is read and built; below 4 ms none is noted",
                "runs": rounded(longest_ms),
                "over_the_limit": [spell.over for spell in spells],
                "took_s": rounded([spell.took_s for spell in spells]),
            },
        )


def one_start(folder: Path, variables: Mapping[str, str]) -> Cold:
    began = time.monotonic()
    with running_gateway(folder, variables) as gateway:
        await_models(gateway, [model_id(MODELS - 1)])
        started_s, peak = time.monotonic() - began, kib_of({"gateway": gateway.pid}, "status", "VmHWM")
    took_s = catchings_up(folder)[-1]["took_s"]
    assert isinstance(took_s, float)
    return Cold(took_s, started_s, peak["gateway"] * 1024 / 1e6)


def one_following(config: Service, variables: Mapping[str, str], number: int) -> tuple[Spell, Spell]:
    """Two catchings up: with nothing held, and with all of them held and one more written."""
    gaps, written = config.folder / "gaps", MODELS + number
    with running_gateway(config.folder, {**variables, **BETWEEN, FILE: str(gaps)}, program=TICKING) as gateway:
        await_models(gateway, [model_id(MODELS - 1)])
        answer = config.ask("POST", "/v1/configs/models", model_text(written).encode())
        assert answer.status == http.HTTPStatus.CREATED, answer.body
        await_models(gateway, [model_id(written)])
        time.sleep(SETTLED_S)
        gateway.ask_to_stop()
        gateway.wait()
    spans, noted = pairs(gaps.with_name("gaps.caught")), pairs(gaps)
    return spell(spans[0], noted), spell(spans[-1], noted)


def spell(span: tuple[float, float], noted: Sequence[tuple[float, float]]) -> Spell:
    began, ended = span
    lengths_ms = [1000 * length for at, length in noted if began <= at <= ended + SETTLED_S]
    over = sum(length > GAP_LIMIT_MS for length in lengths_ms)
    return Spell(ended - began, max(lengths_ms, default=0.0), over)


def pairs(file: Path) -> list[tuple[float, float]]:
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return [(float(first), float(second)) for first, second in lines]


def rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 2) for value in values]
