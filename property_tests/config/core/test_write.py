"""What a plan says is what comes of it: the catalogue it holds is the one that reading its texts again would make."""

from hypothesis import given
from hypothesis import strategies as st

from property_tests.config.core.documents import BUNDLES, SEEDS, configs
from sie.config.core.catalog import Catalog, Config, Document, build_catalog
from sie.config.core.write import Conflicting, Invalid, Unchanged, WritePlan, plan_append, plan_delete, plan_replace
from sie.domain.ids import ModelId
from sie.domain.resolving import Resolved, resolve

writes = st.lists(st.tuples(st.sampled_from(["add", "add", "replace", "delete"]), configs), max_size=8)


def decide(kind: str, catalog: Catalog, texts: dict[str, str], config: Config) -> object:
    sie_id = ModelId(str(config["sie_id"]))
    match kind:
        case "add":
            return plan_append(catalog, texts.get(sie_id), config)
        case "replace":
            return plan_replace(catalog, config)
        case _:
            return plan_delete(catalog, texts.get(sie_id), sie_id)


@given(writes)
def test_the_planned_catalogue_is_what_a_restart_would_read(steps: list[tuple[str, Config]]) -> None:
    catalog = build_catalog(BUNDLES, SEEDS, [])
    texts: dict[str, str] = {}
    for kind, config in steps:
        decision = decide(kind, catalog, texts, config)
        if not isinstance(decision, WritePlan):
            assert isinstance(decision, Invalid | Conflicting | Unchanged)
            continue
        change, catalog = decision.change, decision.catalog
        if change.text is None:
            del texts[change.model_id]
        else:
            texts[change.model_id] = change.text
        again = build_catalog(BUNDLES, SEEDS, [Document(name, text) for name, text in texts.items()])
        assert catalog.snapshot == again.snapshot
        assert catalog.models == again.models
        assert set(decision.affected) <= set(catalog.snapshot.bundles)


@given(configs, configs)
def test_what_was_written_is_unchanged_when_it_is_written_again(first: Config, second: Config) -> None:
    catalog, texts = build_catalog(BUNDLES, SEEDS, []), dict[str, str]()
    for config in (first, second):
        decision = plan_append(catalog, texts.get(str(config["sie_id"])), config)
        if isinstance(decision, WritePlan):
            catalog = decision.catalog
            texts[decision.change.model_id] = decision.change.text or ""
            assert isinstance(plan_append(catalog, decision.change.text, config), Unchanged)
            replaced = plan_replace(catalog, catalog.models[decision.change.model_id].config)
            assert isinstance(replaced, Unchanged)


@given(configs)
def test_a_served_profile_resolves_to_its_best_bundle(config: Config) -> None:
    decision = plan_append(build_catalog(BUNDLES, [], []), None, config)
    if isinstance(decision, WritePlan):
        for profile, bundles in decision.routable.items():
            spec = str(config["sie_id"]) if profile == "default" else f"{config['sie_id']}:{profile}"
            found = resolve(decision.catalog.snapshot, {"model": spec.upper()})
            if bundles:
                assert isinstance(found, Resolved)
                assert (found.model, found.resolved_bundle, found.profiles) == (spec.upper(), bundles[0], ())
