"""Patches: what a merge patch leaves and takes, and JSON patches that undo each other."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from property_tests.kube.strategies import json_values
from sie.testing.kube.patching import BadPatch, FailedPatch, json_patched, merged

texts = st.text("ab/~", max_size=3)
documents = st.dictionaries(texts, json_values, max_size=4)
steps = st.fixed_dictionaries(
    {
        "op": st.sampled_from(("add", "replace", "remove", "test", "copy", "move", "odd")),
        "path": st.lists(texts, max_size=3).map(lambda path: "".join(f"/{key}" for key in path)),
    },
    optional={"value": json_values, "from": texts.map(lambda key: f"/{key}")},
)


def has_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(found is None or has_null(found) for found in value.values())
    return False


@given(documents, documents)
def test_a_merge_patch_is_idempotent_and_its_values_are_there_afterwards(
    target: dict[str, object], patch: dict[str, object]
) -> None:
    once = merged(target, patch)
    assert merged(once, patch) == once
    assert isinstance(once, dict)
    for key in target.keys() - patch.keys():
        assert once[key] == target[key]
    for key, value in patch.items():
        if value is None:
            assert key not in once
        elif not isinstance(value, dict):
            assert once[key] == value


@given(documents)
def test_a_document_without_nulls_is_its_own_merge_patch(document: dict[str, object]) -> None:
    if not has_null(document):
        assert merged({}, document) == document
        assert merged(document, document) == document


@given(documents, texts, json_values)
def test_what_was_added_can_be_tested_and_removed(target: dict[str, object], key: str, value: object) -> None:
    path = "/" + key.replace("~", "~0").replace("/", "~1")
    added = json_patched(target, [{"op": "add", "path": path, "value": value}])
    assert added == {**target, key: value}
    tested = json_patched(added, [{"op": "test", "path": path, "value": value}])
    removed = json_patched(tested, [{"op": "remove", "path": path}])
    assert removed == {name: found for name, found in target.items() if name != key}


@given(documents, st.lists(steps, max_size=4) | json_values)
def test_every_json_patch_applies_or_is_refused_and_leaves_the_document(
    target: dict[str, object], patch: object
) -> None:
    before = merged({}, target) if not has_null(target) else None
    with suppress(BadPatch, FailedPatch):
        json_patched(target, patch)
    assert before is None or target == before
