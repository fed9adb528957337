"""The whole road over HTTP: vectors in JSON and msgpack, and the refusals that a client can make sense of (§2)."""

import socket
from urllib.parse import urlsplit

import numpy as np

from sie.cli.settings import DEFAULT_MODEL
from tests.system.driving import LONG_TEXT, Driver, until, vectors_of

TEXTS = ["A cat sat on the mat.", "Ein Hund läuft durch den Wald.", "", "🦊 emoji and 漢字"]


def test_json_and_msgpack_give_equal_vectors(system: Driver) -> None:
    """Exactly equal for a text alone; items of a request share batches as the worker likes, and so their last bits."""
    for text in TEXTS:
        np.testing.assert_array_equal(vectors_of(system.encode([text])), vectors_of(system.encode_msgpack([text])))
    by_json, by_msgpack = vectors_of(system.encode(TEXTS)), vectors_of(system.encode_msgpack(TEXTS))
    assert by_json.shape == (len(TEXTS), 384)
    np.testing.assert_allclose(by_json, by_msgpack, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(by_json, axis=1), 1, rtol=1e-5)


def test_items_come_back_in_order_with_their_ids(system: Driver) -> None:
    items = [{"id": f"item-{n}", "text": f"text number {n}"} for n in range(40)]
    reply = system.post(f"/v1/encode/{DEFAULT_MODEL}", {"items": items}).json()
    assert reply["model"] == DEFAULT_MODEL
    assert [item["id"] for item in reply["items"]] == [item["id"] for item in items]
    alone = vectors_of(system.encode([items[7]["text"]]))
    np.testing.assert_allclose(alone[0], reply["items"][7]["dense"]["values"], atol=2e-6)


def test_near_texts_have_near_vectors(system: Driver) -> None:
    cat, kitten, tax = vectors_of(system.encode(["a cat", "a kitten", "the tax return of a company"]))
    assert cat @ kitten > cat @ tax + 0.3


def test_an_unknown_model_is_404_by_its_code(system: Driver) -> None:
    reply = system.post("/v1/encode/nobody/knows-it", {"items": [{"text": "x"}]})
    assert reply.status_code == 404
    assert reply.json()["detail"]["code"] == "MODEL_NOT_FOUND"


def test_a_malformed_body_is_400_and_names_the_field(system: Driver) -> None:
    reply = system.post(f"/v1/encode/{DEFAULT_MODEL}", {"items": [{"text": "x"}, {"text": 3}]})
    assert reply.status_code == 400
    assert reply.json()["detail"]["code"] == "INVALID_REQUEST"
    assert "items.1.text" in reply.json()["detail"]["message"]


def test_a_body_that_is_no_json_is_400(system: Driver) -> None:
    place = urlsplit(system.system.gateway)
    with socket.create_connection((place.hostname, place.port), timeout=10) as client:
        head = f"POST /v1/encode/{DEFAULT_MODEL} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: 3\r\n\r\n{{x}}".encode())
        assert b" 400 " in client.recv(4096).partition(b"\r\n")[0]


def test_the_model_is_listed_as_loaded(system: Driver) -> None:
    models = system.get("/v1/models")["models"]
    assert isinstance(models, list)
    assert (DEFAULT_MODEL, True) in [(model["name"], model["loaded"]) for model in models]


def test_a_client_that_drops_in_mid_request_leaves_no_request_behind(system: Driver) -> None:
    place = urlsplit(system.system.gateway)
    body = f'{{"items": [{", ".join(["{" + f""" "text": "{LONG_TEXT}" """ + "}"] * 64)}]}}'
    with socket.create_connection((place.hostname, place.port), timeout=10) as client:
        head = f"POST /v1/encode/{DEFAULT_MODEL} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        until(lambda: system.in_flight() == 1)
    until(lambda: system.in_flight() == 0, within_s=5)
