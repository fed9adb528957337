"""What the config service exports is what a gateway or worker assembles: the same models, the same hashes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sie.authority.snapshot import assemble
from sie.config.core.catalog import Document, build_catalog
from sie.config.core.export import bundle_document, bundles_reply, epoch_reply, export_chunks, models_reply
from sie.wire.configs_api import read_epoch, read_export, to_json
from sie.wire.documents import parse_bundle

MODELS = st.dictionaries(
    st.from_regex(r"[a-z]{1,4}/[a-z0-9.]{1,6}", fullmatch=True).filter(lambda t: ".." not in t),
    st.tuples(st.integers(1, 4096), st.sampled_from(["default", "team-a"]), st.booleans()),
    max_size=5,
)


def document(sie_id: str, tokens: int, pool: str, variant: bool) -> Document:
    extra = ", fast: {extends: default, max_batch_tokens: 7}" if variant else ""
    profile = f"{{adapter_path: 'acme.m:C', max_batch_tokens: {tokens}}}"
    return Document("m.yaml", f"{{sie_id: {sie_id}, pool: {pool}, profiles: {{default: {profile}{extra}}}}}")


@given(MODELS, st.integers(0, 9))
def test_a_reader_of_the_export_ends_with_the_same_snapshot(
    models: dict[str, tuple[int, str, bool]], epoch: int
) -> None:
    bundles = [Document("b.yaml", "{name: default, priority: 10, adapters: [acme.m]}")]
    catalog = build_catalog(bundles, [document(i, *row) for i, row in models.items()], [])
    told = json.loads(b"".join(export_chunks(epoch, catalog, generated_at="now")))
    read = [parse_bundle(json.dumps(bundle_document(bundle)), stem="x") for bundle in catalog.snapshot.bundles.values()]
    assembled = assemble(read, read_export(told))
    assert assembled.snapshot == catalog.snapshot
    assert not assembled.failed
    assert told["bundle_config_hashes"] == {
        "default": catalog.snapshot.hashes[next(iter(catalog.snapshot.bundles))] or ""
    }
    reading = read_epoch(json.loads(json.dumps(to_json(epoch_reply(epoch, assembled.snapshot)))))
    assert reading.bundle_config_hashes_hash == catalog.snapshot.bundle_config_hashes_hash


@given(MODELS)
def test_lists_name_everything_that_can_be_served(models: dict[str, tuple[int, str, bool]]) -> None:
    bundles = [Document("b.yaml", "{name: default, adapters: [acme.m]}")]
    catalog = build_catalog(bundles, [document(i, *row) for i, row in models.items()], [])
    rows = models_reply(catalog).models
    variants = {f"{i}:fast" for i, row in models.items() if row[2]}
    assert [row.model_id for row in rows] == sorted({*models, *variants})
    assert [row.bundle_id for row in bundles_reply(catalog.snapshot).bundles] == ["default"]
