"""A spec that is put together comes apart into the same parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model_spec import InvalidSpec, ModelSpec, parse_spec
from sie.testing.strategies import model_ids

bundles = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)


@given(bundles, model_ids)
def test_a_spec_with_a_bundle_comes_apart(bundle: str, model: str) -> None:
    assert parse_spec(f"{bundle}:/{model}") == ModelSpec(bundle.lower(), model)


@given(model_ids)
def test_a_spec_without_one_is_the_serving_id(model: str) -> None:
    assert parse_spec(f"{model}:fast") == ModelSpec(None, f"{model}:fast")


@pytest.mark.parametrize("text", ["", "  ", ":/m", "b:/"])
def test_a_spec_with_a_part_missing_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpec):
        parse_spec(text)
