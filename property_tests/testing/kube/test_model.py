"""The model of an API server: one rising revision, a history that replays to the present, and answers to anything."""

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from property_tests.kube.strategies import json_values
from property_tests.kube.writing import SCOPE, Write, new_model, write, writes
from sie.testing.kube.asking import Request, understood
from sie.testing.kube.face import Answer, Face, Watching
from sie.testing.kube.model import KubeModel
from sie.testing.kube.refusing import Refused
from sie.testing.kube.resources import Document
from sie.testing.kube.shaping import text_of


def by_name(items: list[Document]) -> dict[str, Document]:
    return {text_of(item, "name"): item for item in items}


@given(st.lists(writes(), max_size=30))
def test_the_history_from_every_listing_leads_to_the_present(some: list[Write]) -> None:
    model = new_model()
    listings = {}
    for wanted in some:
        listings[model.revision] = by_name(model.listed(SCOPE))
        write(model, wanted)
    for revision, listed in listings.items():
        assert replayed(listed, model.since(SCOPE, revision)) == by_name(model.listed(SCOPE))


def replayed(listed: dict[str, Document], events: list[Document]) -> dict[str, Document]:
    held = dict(listed)
    for event in events:
        item = event["object"]
        assert isinstance(item, dict)
        name = text_of(item, "name")
        assert (event["type"] == "ADDED") is (name not in held)
        held[name] = item
        if event["type"] == "DELETED":
            del held[name]
    return held


@given(st.lists(writes(), max_size=30), st.integers(2, 6))
def test_revisions_rise_by_one_and_the_history_is_bounded(some: list[Write], window: int) -> None:
    model = KubeModel(lambda: 0.0, random.Random(0), window=window)
    for wanted in some:
        before = model.revision
        write(model, wanted)
        assert model.revision in (before, before + 1)
        assert len(model.since(SCOPE, model.revision)) == 0
        assert model.revision - model.compacted <= window


requests = st.builds(
    Request,
    st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")),
    st.lists(
        st.sampled_from(("api", "v1", "namespaces", "default", "configmaps", "a", "apis", "leases", "version")),
        max_size=6,
    ).map(lambda parts: "/" + "/".join(parts))
    | st.sampled_from(("/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps/a")),
    st.dictionaries(
        st.sampled_from(("watch", "limit", "continue", "resourceVersion", "labelSelector", "timeoutSeconds")),
        st.sampled_from(("1", "0", "x", "", "a=b", "W10=")),
        max_size=3,
    ),
    st.dictionaries(
        st.just("content-type"),
        st.sampled_from(("application/json", "application/merge-patch+json", "application/json-patch+json", "x")),
    ),
    st.binary(max_size=8)
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from(("metadata", "data", "kind")), json_values).map(
        lambda found: json.dumps({**found, "metadata": {"name": "a"}}).encode()
    ),
)


@given(st.lists(requests, max_size=8))
def test_every_request_has_an_answer(asked: list[Request]) -> None:
    face = Face(new_model())
    for request in asked:
        try:
            meant = understood(request)
        except Refused:
            continue
        if meant is not None:
            answer = face.answer(request, meant)
            assert isinstance(answer, Answer | Watching)
            assert isinstance(answer, Watching) or json.dumps(answer.body)
