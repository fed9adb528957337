"""A document that may replace may also be new, and the case of its pool never counts."""

from hypothesis import given

from property_tests.config.core.documents import BUNDLES, SEEDS, configs
from sie.config.core.catalog import Config, build_catalog
from sie.config.core.checks import check_new, check_replacement, with_canonical_pool


@given(configs)
def test_a_pool_is_checked_in_its_canonical_form(config: Config) -> None:
    known = build_catalog(BUNDLES, SEEDS, []).snapshot
    canonical = with_canonical_pool(config)
    assert canonical == with_canonical_pool(canonical)
    assert check_new(known, {}, canonical) == check_new(known, {}, with_canonical_pool({**config}))
    alone, appended = check_replacement(known, canonical), check_new(known, {}, canonical)
    if alone is None:
        assert appended is None
