"""Scores and entities of real text over HTTP, by models that are loaded when they are first asked for (§2, §16.2)."""

from collections.abc import Mapping

import numpy as np
import pytest

from sie.wire.codec import pack, unpack
from tests.system.driving import ANSWER_WITHIN_S, MSGPACK, Driver, until

SCORER = "sie/minilm-late-interaction"
EXTRACTOR = "nationaldesignstudio/rampart"
SPARSE = "sie/splade-tiny"
PASSAGES = (
    "The Eiffel Tower stands in Paris.",
    "Berlin has a population of about 3.7 million people.",
    "Bread is baked from flour, water and salt.",
)


def ask(system: Driver, path: str, body: object) -> Mapping[str, object]:
    """A model that nobody has asked for yet is loaded meanwhile."""
    until(lambda: system.post(path, body).status_code != 503, within_s=ANSWER_WITHIN_S)
    reply = system.post(path, body)
    assert reply.status_code == 200, reply.text
    document: Mapping[str, object] = reply.json()
    return document


def test_the_passage_that_answers_is_ranked_first(system: Driver) -> None:
    items = [{"id": f"p{number}", "text": text} for number, text in enumerate(PASSAGES)]
    body = {"query": {"text": "How many people live in Berlin?"}, "items": items}
    reply = ask(system, f"/v1/score/{SCORER}", body)
    scores = reply["scores"]
    assert isinstance(scores, list)
    assert [row["rank"] for row in scores] == [0, 1, 2]
    assert scores[0]["item_id"] == "p1"
    assert scores[0]["score"] > scores[1]["score"] >= scores[2]["score"]


def test_a_score_in_msgpack_is_the_same_and_names_items_without_an_id(system: Driver) -> None:
    body = {"query": {"text": "How is bread made?"}, "items": [{"text": text} for text in PASSAGES]}
    by_json = ask(system, f"/v1/score/{SCORER}", body)["scores"]
    reply = system.post_msgpack(f"/v1/score/{SCORER}", pack(body))
    document = unpack(reply.content)
    assert isinstance(document, dict)
    assert reply.headers["content-type"] == MSGPACK
    assert document["scores"] == by_json
    assert document["scores"][0]["item_id"] == "item-2"


def test_persons_and_places_are_found_at_their_characters(system: Driver) -> None:
    text = "Maria Gonzalez lives at 742 Evergreen Terrace, Springfield."
    body = {"items": [{"text": text}, {"id": "mine", "text": "Nothing to see here."}]}
    items = ask(system, f"/v1/extract/{EXTRACTOR}", body)["items"]
    assert isinstance(items, list)
    assert [item["id"] for item in items] == ["item-0", "mine"]
    found = {entity["label"]: entity for entity in items[0]["entities"]}
    assert found["GIVEN_NAME"]["text"] == "Maria"
    assert found["SURNAME"]["text"] == "Gonzalez"
    assert found["CITY"]["text"] == "Springfield"
    assert all(text[entity["start"] : entity["end"]] == entity["text"] for entity in found.values())
    assert items[1]["entities"] == []


def test_a_sparse_vector_weighs_the_words_of_its_text_and_some_more(system: Driver) -> None:
    body = {"items": [{"text": "how do solar panels generate electricity"}], "params": {"output_types": ["sparse"]}}
    items = ask(system, f"/v1/encode/{SPARSE}", body)["items"]
    assert isinstance(items, list)
    sparse = items[0]["sparse"]
    assert sparse["dims"] == 30522
    assert len(sparse["indices"]) == len(sparse["values"]) > 6
    assert min(sparse["values"]) > 0
    assert np.all(np.diff(sparse["indices"]) > 0)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        (f"/v1/score/{EXTRACTOR}", {"query": {"text": "a"}, "items": [{"text": "b"}]}, "does not score"),
        (f"/v1/extract/{SCORER}", {"items": [{"text": "b"}]}, "does not extract"),
        (f"/v1/extract/{EXTRACTOR}", {"items": [{"text": "b"}], "params": {"labels": ["DRAGON"]}}, "DRAGON"),
    ],
)
def test_what_a_model_does_not_do_is_400_in_words(
    system: Driver, path: str, body: Mapping[str, object], words: str
) -> None:
    until(lambda: system.post(path, body).status_code != 503, within_s=ANSWER_WITHIN_S)
    reply = system.post(path, body)
    assert reply.status_code == 400
    assert words in reply.text
