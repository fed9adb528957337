"""From an export to a registry: good rows are taken, bad ones are named, rows without a body are counted (§4.1)."""

from hypothesis import given

from sie.authority.snapshot import assemble
from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName
from sie.testing import message_strategies, strategies
from sie.wire.configs_api import ExportReply, ExportRow

BUNDLES = (Bundle(BundleName("default"), ("acme.enc",)),)
GOOD = ExportRow(
    model_id="a/good", model_config={"sie_id": "a/good", "profiles": {"default": {"adapter_path": "acme.enc:E"}}}
)
EMPTY = ExportRow(model_id="a/empty")
UNROUTABLE = ExportRow(
    model_id="a/lost", model_config={"sie_id": "a/lost", "profiles": {"default": {"adapter_path": "acme.none:E"}}}
)


def export(*rows: ExportRow) -> ExportReply:
    return ExportReply(epoch=1, models=rows)


def test_a_good_export_is_taken_whole() -> None:
    assembled = assemble(BUNDLES, export(GOOD))
    assert (dict(assembled.failed), assembled.skipped) == ({}, 0)
    assert assembled.snapshot.find("a/good") is not None


def test_a_row_without_a_body_is_skipped_and_not_failed() -> None:
    assembled = assemble(BUNDLES, export(GOOD, EMPTY, EMPTY))
    assert (dict(assembled.failed), assembled.skipped) == ({}, 2)
    assert list(assembled.snapshot.models) == ["a/good"]


def test_a_row_of_no_model_fails_alone_and_is_named_with_the_reason() -> None:
    bad = ExportRow(model_id="a/bad", model_config={"sie_id": "a/bad", "profiles": {"p": {"max_batch_tokens": "1"}}})
    no_map = ExportRow(model_id="a/text", model_config="sie_id: a/text")
    assembled = assemble(BUNDLES, export(bad, GOOD, no_map))
    assert dict(assembled.failed) == {
        "a/bad": "profiles.p.max_batch_tokens: must be an integer, not a string",
        "a/text": "must be a map, not a string",
    }
    assert list(assembled.snapshot.models) == ["a/good"]


def test_a_model_that_no_bundle_runs_is_told_as_failed() -> None:
    assembled = assemble(BUNDLES, export(GOOD, UNROUTABLE))
    assert dict(assembled.failed) == {"a/lost": "no bundle runs it"}
    assert assembled.snapshot.find("a/lost") is None


def test_an_empty_export_is_an_empty_model_set() -> None:
    assembled = assemble(BUNDLES, export())
    assert (dict(assembled.failed), assembled.skipped) == ({}, 0)
    assert list(assembled.snapshot.bundles) == ["default"]
    assert not assembled.snapshot.models


@given(strategies.bundle_sets, message_strategies.export_replies)
def test_every_row_is_served_skipped_or_named(bundles: list[Bundle], drawn: ExportReply) -> None:
    assembled = assemble(bundles, drawn)
    assert assembled.skipped == sum(row.model_config is None for row in drawn.models)
    for model in assembled.snapshot.models.values():
        assert assembled.snapshot.bundles_of(model) or model.sie_id in assembled.failed
    for row in drawn.models:
        config = row.model_config
        named = config.get("sie_id") if isinstance(config, dict) else None
        assert config is None or named in assembled.snapshot.models or row.model_id in assembled.failed
