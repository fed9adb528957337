"""Repairing what exists (§8.2): exactly the named settings, and nothing of what an operator set besides."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from property_tests.bus.test_jetstream_api import json_values, streams
from sie.bus.jetstream_api import StreamSpec, encode_stream
from sie.bus.reconcile import STREAM_REPAIRED, plan_stream_repair

extras = st.dictionaries(st.text(min_size=1, max_size=8).map(lambda key: f"x_{key}"), json_values, max_size=3)


@given(streams, extras)
def test_a_stream_as_wanted_needs_no_repair(spec: StreamSpec, extra: Mapping[str, object]) -> None:
    repair = plan_stream_repair(spec, {**encode_stream(spec), **extra})
    assert (repair.config, repair.changed, repair.mismatches) == (None, (), ())


@given(streams, streams, extras)
def test_a_repair_changes_the_repaired_settings_alone(
    spec: StreamSpec, other: StreamSpec, extra: Mapping[str, object]
) -> None:
    found = {**encode_stream(other), **extra}
    repair = plan_stream_repair(spec, found)
    after = found if repair.config is None else repair.config
    wanted = encode_stream(spec)
    assert all(after[key] == wanted[key] for key in STREAM_REPAIRED)
    untouched = found.keys() - STREAM_REPAIRED - {"duplicate_window"}
    assert {key: after[key] for key in untouched} == {key: found[key] for key in untouched}


@given(streams, streams)
def test_every_difference_is_either_repaired_or_reported(spec: StreamSpec, other: StreamSpec) -> None:
    found, wanted = encode_stream(other), encode_stream(spec)
    repair = plan_stream_repair(spec, found)
    told = {*repair.changed, *(mismatch.setting for mismatch in repair.mismatches)}
    assert told == {key for key in wanted if wanted[key] != found.get(key)}
