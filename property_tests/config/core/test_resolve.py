"""What a write says it can be routed to is what its name resolves to."""

from hypothesis import given

from property_tests.config.core.documents import BUNDLES, configs
from sie.config.core.catalog import Config, build_catalog
from sie.config.core.resolve import Resolved, resolve
from sie.config.core.write import WritePlan, plan_append


@given(configs)
def test_a_served_profile_resolves_to_its_best_bundle(config: Config) -> None:
    decision = plan_append(build_catalog(BUNDLES, [], []), None, config)
    if isinstance(decision, WritePlan):
        for profile, bundles in decision.routable.items():
            spec = str(config["sie_id"]) if profile == "default" else f"{config['sie_id']}:{profile}"
            found = resolve(decision.catalog, {"model": spec.upper()})
            if bundles:
                assert isinstance(found, Resolved)
                assert (found.model, found.resolved_bundle, found.profiles) == (spec.upper(), bundles[0], ())
