"""What a model comes to among bundles is one function of the two and the form, whatever else is there (§16.1)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle import Bundle, BundleSet
from sie.domain.bundle_hash import HashedRows, bundle_config_hash, serves
from sie.domain.hash_form import HashForm
from sie.domain.model import Model
from sie.domain.registered import register
from sie.testing import strategies

FORMS = st.sampled_from(HashForm)


@given(strategies.bundle_sets, strategies.models, FORMS)
def test_there_is_a_row_for_each_bundle_that_serves_it_best_first(
    bundles: list[Bundle], model: Model, form: HashForm
) -> None:
    rows = register(model, BundleSet.of(bundles), form).rows
    assert list(rows) == [b.name for b in sorted(bundles, key=lambda b: b.rank) if serves(b, model)]


@given(strategies.bundle_sets, strategies.models, FORMS)
def test_a_row_hashes_as_a_catalogue_of_that_model_alone(bundles: list[Bundle], model: Model, form: HashForm) -> None:
    found = BundleSet.of(bundles)
    for name, row in register(model, found, form).rows.items():
        assert HashedRows.of({model.sie_id: row}).value == bundle_config_hash(found.by_name[name], [model], form=form)


@given(strategies.bundle_sets, strategies.models, FORMS)
def test_each_name_is_in_lower_case_and_has_bundles(bundles: list[Bundle], model: Model, form: HashForm) -> None:
    for key, name in register(model, BundleSet.of(bundles), form).names.items():
        assert key == model.serving_id(name.profile).lower()
        assert name.model is model
        assert name.bundles
