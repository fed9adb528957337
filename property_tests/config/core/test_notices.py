"""What is told of a write is what it did."""

from hypothesis import given

from property_tests.config.core.documents import BUNDLES, configs
from sie.config.core.catalog import Config, build_catalog
from sie.config.core.merge import profiles_of
from sie.config.core.notices import notifications, warnings
from sie.config.core.write import WritePlan, plan_append


@given(configs)
def test_a_delta_is_told_once_for_each_bundle_and_carries_the_document(config: Config) -> None:
    decision = plan_append(build_catalog(BUNDLES, [], []), None, config)
    if isinstance(decision, WritePlan):
        told = list(notifications(decision, epoch=3, producer="p"))
        assert [n.bundle_id for n in told] == sorted(decision.affected)
        hashes = {str(name): value for name, value in decision.catalog.snapshot.hashes.items()}
        for notice in told:
            assert notice.model_config == decision.change.text
            assert notice.bundle_config_hash == hashes[notice.bundle_id]
            assert notice.profiles_added == tuple(profiles_of(config))
            assert set(notice.bundle_pool_config_hashes) == set(decision.affected)


def test_warnings_name_what_was_not_told() -> None:
    assert warnings((), confirmed=True) == ()
    assert warnings(("alpha",), confirmed=True)[0].startswith("nats_publish_partial: ")
    assert warnings((), confirmed=False)[0].startswith("nats_publish_failed: ")
    assert warnings(("alpha",), confirmed=False)[0].startswith("nats_publish_failed: ")
