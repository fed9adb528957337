"""What must change on a stream or consumer that exists already (§8.2)? Pure; `sie.bus.jetstream` carries it out.

An update sends the found settings back with only the repaired ones replaced: what an operator set besides stays.
"""

from collections.abc import Mapping

import attrs

from sie.bus.jetstream_api import ConsumerSpec, Json, Mismatch, StreamSpec, encode_consumer, encode_stream

# §8.2: these are repaired. Storage can never be changed in place (err_code 10052), and recreating the stream would
# destroy the work it holds; the others are an operator's choice once the stream exists.
STREAM_REPAIRED = frozenset({"subjects", "max_age", "discard", "num_replicas"})

# A consumer's other settings cannot be changed in place.
CONSUMER_REPAIRED = frozenset({"filter_subject", "ack_wait", "max_deliver", "max_ack_pending"})


@attrs.frozen
class Repair:
    """`config` is the whole of the settings to send, None when nothing has to change."""

    config: Json | None
    changed: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]


def plan_stream_repair(spec: StreamSpec, found: Json) -> Repair:
    repair = _plan(encode_stream(spec), found, STREAM_REPAIRED)
    if repair.config is None:
        return repair
    return attrs.evolve(repair, config=_clamp_duplicate_window(repair.config))


def plan_consumer_repair(spec: ConsumerSpec, found: Json) -> Repair:
    return _plan(encode_consumer(spec), found, CONSUMER_REPAIRED)


def _plan(wanted: Json, found: Json, repaired: frozenset[str]) -> Repair:
    differing = {key: value for key, value in wanted.items() if found.get(key) != value}
    changed = tuple(key for key in differing if key in repaired)
    mismatches = tuple(
        Mismatch(key, str(value), str(found.get(key))) for key, value in differing.items() if key not in repaired
    )
    config: Mapping[str, object] | None = {**found, **{key: wanted[key] for key in changed}} if changed else None
    return Repair(config, changed, mismatches)


def _clamp_duplicate_window(config: Json) -> Json:
    """The server refuses a duplicate window longer than max_age, so a shortened age takes the window along."""
    window, age = config.get("duplicate_window"), config.get("max_age")
    if isinstance(window, int) and isinstance(age, int) and 0 < age < window:
        return {**config, "duplicate_window": age}
    return config
