"""How long from `sie up` to ready? With a cold compile cache in seconds, with warm caches against a bare process.

The bare process imports jax and loads the same weights into jax arrays: what any program would pay that uses them. The
two alternate, so that both meet the same machine; the best pair counts, since noise only ever adds.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import attrs

from ci.lib.bench_figure import Figure
from ci.lib.demo_model import cache_folder, fetch_checkpoint
from ci.lib.demo_system import first_line, running_system

WARM_LIMIT = 2.5
COLD_LIMIT_S = 60.0
COLD_TRIES = 3
PAIRS = 3
QUICK_PAIRS = 2
BARE_WITHIN_S = 120.0
BARE = """
import sys
import jax
from safetensors.flax import load_file
jax.block_until_ready([load_file(path) for path in sys.argv[1:]])
print("loaded", flush=True)
"""


@attrs.frozen
class Pair:
    bare_s: float
    up_s: float

    @property
    def ratio(self) -> float:
        return self.up_s / self.bare_s


def start(quick: bool) -> Iterator[Figure]:
    """Cold first: it leaves the compiled programs that the warm starts find."""
    checkpoint = fetch_checkpoint(lambda _: None)
    weights = sorted(checkpoint.glob("*.safetensors"))
    with tempfile.TemporaryDirectory(prefix="sie-bench-") as name:
        folder = Path(name)
        cold_s = cold_starts(folder, checkpoint, 1 if quick else COLD_TRIES)
        yield Figure("start", "cold_compile_cache", min(cold_s), COLD_LIMIT_S, "s", {"runs": rounded(cold_s)})
        cache = cold_cache(folder, len(cold_s) - 1)
        pairs = [Pair(bare_s(weights), up_s(folder, cache)) for _ in range(QUICK_PAIRS if quick else PAIRS)]
    best = min(pairs, key=lambda pair: pair.ratio)
    details = {
        "up_s": rounded([pair.up_s for pair in pairs]),
        "bare_s": rounded([pair.bare_s for pair in pairs]),
        "ratios": rounded([pair.ratio for pair in pairs]),
    }
    yield Figure("start", "warm_over_bare", best.ratio, WARM_LIMIT, "ratio", details)


def cold_starts(folder: Path, checkpoint: Path, tries: int) -> list[float]:
    """Until one is within the limit; each with a cache folder of its own."""
    runs: list[float] = []
    while not runs or (min(runs) > COLD_LIMIT_S and len(runs) < tries):
        cache = cold_cache(folder, len(runs))
        link_weights(checkpoint, cache_folder(), cache)
        runs.append(up_s(folder, cache))
    return runs


def cold_cache(folder: Path, number: int) -> Path:
    return folder / f"cache-{number}"


def link_weights(checkpoint: Path, source: Path, target: Path) -> None:
    """A cache folder with the checkpoint, if it is kept in one, and nothing else: no compiled program above all."""
    target.mkdir()
    if checkpoint.is_relative_to(source):
        kept_in = checkpoint.relative_to(source).parts[0]
        (target / kept_in).symlink_to(source / kept_in)


def up_s(folder: Path, cache: Path) -> float:
    flags = ["--port", "0", "--state-dir", str(folder / "state"), "--cache-dir", str(cache)]
    with running_system(flags, stderr=subprocess.DEVNULL) as system:
        return system.seconds


def bare_s(weights: list[Path]) -> float:
    """From the start of the process to the line by which it says that it has them."""
    started = time.monotonic()
    command = [sys.executable, "-P", "-c", BARE, *map(str, weights)]
    with subprocess.Popen(command, env={**os.environ, "JAX_PLATFORMS": "cpu"}, stdout=subprocess.PIPE) as process:
        first_line(process, BARE_WITHIN_S, "the bare process")
        return time.monotonic() - started


def rounded(values: list[float]) -> list[float]:
    return [round(value, 3) for value in values]
