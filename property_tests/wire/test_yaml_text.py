"""Whatever JSON value is dumped, the text parses back to it."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.wire.documents import load_yaml
from sie.wire.yaml_text import dump_yaml

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), values, max_size=4))
def test_a_document_survives_its_text(document: dict[str, Json]) -> None:
    assert load_yaml(dump_yaml(document)) == document
