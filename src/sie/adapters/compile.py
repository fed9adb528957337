"""Programs compiled ahead of time, one per bucket, and kept on disk between processes.

A load compiles every bucket, so no request ever waits for a compiler; a restart finds the programs in the cache and
only traces. XLA compiles outside the interpreter lock, so buckets compile in threads while the next one is traced.
"""

import hashlib
import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
from jax.stages import Compiled

from sie.adapters.api import LoadFailed, Progress, Report
from sie.adapters.packing import Bucket
from sie.adapters.rows import empty_tokens

# (leaves, tokens [3, rows, length]) to [rows, segments, dims]
Program = Callable[[Sequence[jax.Array], jax.Array], jax.Array]

_COMPILE_THREADS = 2  # enough to hide the compiler behind tracing, which holds the interpreter lock


def use_compile_cache(cache_dir: Path) -> None:
    """Process-wide, and read by JAX at its first compilation: the first model loaded decides where the cache is."""
    settings: Mapping[str, str | int] = {
        "jax_compilation_cache_dir": str(cache_dir / f"xla-{_machine()}"),
        # by default programs that compile quickly, such as small buckets, are not kept
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]  # jax leaves this one without annotations


def compile_buckets(
    program: Program, leaves: Sequence[jax.Array], buckets: Sequence[Bucket], report: Report
) -> Mapping[Bucket, Compiled]:
    """`report` is called from the calling thread only."""
    jitted = jax.jit(program)
    report(Progress("compiling", 0, len(buckets)))
    compiled: dict[Bucket, Compiled] = {}
    try:
        with ThreadPoolExecutor(_COMPILE_THREADS, thread_name_prefix="compile") as pool:
            compiling = [pool.submit(jitted.lower(leaves, empty_tokens(bucket)).compile) for bucket in buckets]
            for bucket, future in zip(buckets, compiling, strict=True):
                compiled[bucket] = future.result()
                report(Progress("compiling", len(compiled), len(buckets)))
    except jax.errors.JaxRuntimeError as error:
        exhausted = "RESOURCE_EXHAUSTED" in str(error)
        error_class = "OOM" if exhausted else "ENGINE"
        raise LoadFailed(f"compilation failed: {error}", error_class=error_class, permanent=False) from error
    return compiled


def _machine() -> str:
    """A program compiled for one CPU's instructions may crash another; caches on a shared disk must not be mixed."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"
