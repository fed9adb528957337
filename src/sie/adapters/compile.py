"""Programs compiled ahead of time, one per bucket; `program_store` keeps them between processes.

A load compiles every bucket, so no request ever waits for a compiler. XLA compiles outside the interpreter lock, so
buckets compile in threads while the next one is traced. JAX's own disk cache is off: an executable that comes out of it
cannot be serialized again (on CPU its functions are then missing), and whoever set its variables would break our store.
"""

import hashlib
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import jax

from sie.adapters.api import LoadFailed, Progress, Report
from sie.adapters.packing import Bucket
from sie.adapters.rows import empty_tokens
from sie.adapters.stages import Program, Programs, Stages, Weights

_THREADS = 2  # enough to hide the compiler behind tracing, which holds the interpreter lock


def compile_buckets(stages: Stages, weights: Weights, buckets: Sequence[Bucket], report: Report) -> Programs:
    """`report` is called from the calling thread only. Raises LoadFailed."""
    jax.config.update("jax_enable_compilation_cache", False)  # type: ignore[no-untyped-call]  # jax leaves it untyped
    report(Progress("compiling", 0, len(buckets)))
    compiled: dict[Bucket, Program] = {}
    try:
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="compile") as pool:
            compiling = {pool.submit(_compile, stages, weights, bucket): bucket for bucket in buckets}
            for future in as_completed(compiling):
                compiled[compiling[future]] = future.result()
                report(Progress("compiling", len(compiled), len(buckets)))
    except jax.errors.JaxRuntimeError as error:
        exhausted = "RESOURCE_EXHAUSTED" in str(error)
        error_class = "OOM" if exhausted else "ENGINE"
        raise LoadFailed(f"compilation failed: {error}", error_class=error_class, permanent=False) from error
    return {bucket: compiled[bucket] for bucket in buckets}


def warm_up(programs: Programs, weights: Weights) -> None:
    """Run each stage once: XLA builds a program's CPU kernels when it first runs, and no request shall pay for that."""
    for bucket, program in programs.items():
        tokens = empty_tokens(bucket)
        states, bias = program.enter(weights.enter, tokens)
        warmed: jax.Array = program.leave(weights.leave, program.layer(weights.layers[0], states, bias), tokens)
        warmed.block_until_ready()


@cache
def machine() -> str:
    """A program compiled for one CPU's instructions may crash another; caches on a shared disk must not be mixed."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"


def _compile(stages: Stages, weights: Weights, bucket: Bucket) -> Program:
    tokens, layer = empty_tokens(bucket), weights.layers[0]
    states, bias = jax.eval_shape(stages.enter, weights.enter, tokens)
    return Program(
        enter=jax.jit(stages.enter).lower(weights.enter, tokens).compile(),
        layer=jax.jit(stages.layer).lower(layer, states, bias).compile(),
        leave=jax.jit(stages.leave).lower(weights.leave, states, tokens).compile(),
    )
