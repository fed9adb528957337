"""A catalogue takes each document that can be read and names each that cannot; stored models win over seeds."""

from hypothesis import given
from hypothesis import strategies as st

from sie.config.core.catalog import Document, build_catalog

NAMES = st.sampled_from(["a", "b", "c", "d"])
BUNDLE = Document("bundles/default.yaml", "{name: default, adapters: [acme.m]}")


def model(name: str, tokens: int) -> Document:
    profile = f"{{adapter_path: 'acme.m:C', max_batch_tokens: {tokens}}}"
    return Document(f"models/{name}.yaml", f"{{sie_id: {name}, profiles: {{default: {profile}}}}}")


@given(st.dictionaries(NAMES, st.integers(1, 9)), st.dictionaries(NAMES, st.integers(1, 9)), st.integers(0, 3))
def test_stored_models_win_and_bad_documents_are_named(seeds: dict[str, int], stored: dict[str, int], bad: int) -> None:
    broken = [Document(f"models/broken{index}.yaml", "sie_id: [") for index in range(bad)]
    catalog = build_catalog(
        [BUNDLE], [*(model(n, t) for n, t in seeds.items()), *broken], [model(n, t) for n, t in stored.items()]
    )
    tokens = {str(i): m.model.profiles for i, m in catalog.models.items()}
    assert {n: next(iter(p.values())).max_batch_tokens for n, p in tokens.items()} == {**seeds, **stored}
    assert {str(i) for i, m in catalog.models.items() if m.source == "api"} == set(stored)
    assert len(catalog.problems) == bad
    assert all("models/broken" in problem for problem in catalog.problems)
