"""What does a delta cost in a registry of thousands, and what does one cost that came before (`ci/bench convergence`)?

In process, with real threads: from the delta's bytes until the replica holds its snapshot, its document read meanwhile.
"""

import statistics
import time
from collections.abc import Iterator, Sequence

import attrs
import trio

from ci.lib.bench_config_models import model_id, model_text
from ci.lib.bench_figure import Figure
from sie.domain.bundle import Bundle
from sie.domain.convergence import Reading, Trust
from sie.domain.hash_form import HashForm
from sie.domain.ids import BundleName
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.replica import Replica
from sie.gateway.sync.bootstrap import Syncing
from sie.gateway.sync.deltas import Deltas
from sie.runtime.world import build_quietly, real_machine
from sie.wire.documents import parse_model
from sie.wire.notification import ConfigNotification, encode_notification

LIMITS_MS = {1_000: 10.0, 10_000: 50.0}
"""Models in the registry, and what a delta may cost there."""
REPEAT_LIMIT_MS = 1.0
ROUNDS = 3
DELTAS = 30
QUICK_DELTAS = 10
BUNDLE = Bundle(BundleName("alpha"), ("acme.enc",), 10)


@attrs.frozen
class Round:
    """Medians."""

    new_ms: float
    repeat_ms: float


def delta_figures(quick: bool) -> Iterator[Figure]:
    for count, limit_ms in LIMITS_MS.items():
        rounds = trio.run(measured, count, QUICK_DELTAS if quick else DELTAS)
        new_ms, repeat_ms = [taken.new_ms for taken in rounds], [taken.repeat_ms for taken in rounds]
        details = {"of": "the best of the rounds' medians", "models": count}
        yield Figure(
            *("convergence", f"delta_at_{count}", min(new_ms), limit_ms, "ms"), {"runs": rounded(new_ms), **details}
        )
        yield Figure(
            *("convergence", f"repeat_at_{count}", min(repeat_ms), REPEAT_LIMIT_MS, "ms"),
            {"runs": rounded(repeat_ms), **details},
        )


async def measured(count: int, deltas: int) -> Sequence[Round]:
    applying = Deltas(syncing_with(count), Trust())
    numbers = iter(range(count, count + ROUNDS * deltas))
    return [await one_round(applying, [next(numbers) for _ in range(deltas)]) for _ in range(ROUNDS)]


def syncing_with(count: int) -> Syncing:
    """A gateway's, that has caught up with an authority of so many models at that epoch."""
    machine, replica = real_machine(trio.Event()), Replica()
    models = [parse_model(model_text(number)) for number in range(count)]
    snapshot = build_quietly(lambda: RegistrySnapshot.of([BUNDLE], models))
    replica.adopt(snapshot, Reading(count, snapshot.bundles_hash, snapshot.bundle_config_hashes_hash), count)
    return Syncing(replica, machine.run_in_thread, machine.build_in_thread, HashForm.REFERENCE)


async def one_round(applying: Deltas, numbers: Sequence[int]) -> Round:
    replica = applying.syncing.replica
    new_ms, repeat_ms = [], []
    for number in numbers:
        body = delta(number)
        new_ms.append(await applied_ms(applying, body))
        held = replica.registry.snapshot
        assert (len(held.models), replica.reading.epoch) == (number + 1, number + 1)
        repeat_ms.append(await applied_ms(applying, body))
        assert replica.registry.snapshot is held
    return Round(statistics.median(new_ms), statistics.median(repeat_ms))


async def applied_ms(applying: Deltas, body: bytes) -> float:
    began = time.perf_counter()
    await applying.apply(body)
    return 1000 * (time.perf_counter() - began)


def delta(number: int) -> bytes:
    """Of the write that added the model, the next one after that of the model before it."""
    return encode_notification(
        ConfigNotification(
            router_id="sie-config",
            bundle_id="alpha",
            epoch=number + 1,
            model_id=model_id(number),
            profiles_added=("default", "fast", "long"),
            model_config=model_text(number),
            affected_bundles=("alpha",),
        )
    )


def rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]
