"""The config service's replies are read as they were written, through JSON (wire-facts 3.2, 3.5)."""

import json
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from sie.testing import message_strategies, strategies
from sie.wire.configs_api import (
    BundlesReply,
    EpochReply,
    ExportReply,
    read_bundles,
    read_epoch,
    read_export,
    to_json,
)
from tests.wire.refusals import problems_of


def through_json(reply: EpochReply | BundlesReply | ExportReply) -> Mapping[str, object]:
    value = json.loads(json.dumps(to_json(reply)))
    assert isinstance(value, dict)
    return value


@given(message_strategies.epoch_replies, strategies.json_maps)
def test_an_epoch_is_read_as_written_whatever_a_newer_service_adds(reply: EpochReply, more: dict[str, object]) -> None:
    assert read_epoch({**more, **through_json(reply)}) == reply


@given(message_strategies.bundles_replies, strategies.json_maps)
def test_a_bundle_list_is_read_as_written(reply: BundlesReply, more: dict[str, object]) -> None:
    assert read_bundles({**more, **through_json(reply)}) == reply


@given(message_strategies.export_replies, strategies.json_maps)
def test_an_export_is_read_as_written(reply: ExportReply, more: dict[str, object]) -> None:
    read = read_export({**more, **through_json(reply)})
    assert through_json(read) == through_json(reply)


@given(st.integers(0, 2**53))
def test_a_service_that_knows_no_hashes_has_the_sentinels(epoch: int) -> None:
    assert read_epoch({"epoch": epoch}) == EpochReply(epoch=epoch, bundles_hash="", bundle_config_hashes_hash="")


@given(strategies.json_values)
def test_any_other_value_is_refused(value: object) -> None:
    """A drawn map has none of the required keys."""
    assert problems_of(read_epoch, value)
    assert problems_of(read_bundles, value)
    assert problems_of(read_export, value)
