"""Clients of a simulated cluster: what they ask for, and whether the answer is the one to exactly that."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal

import attrs

from sie.testing.cluster.catalogue import MISSING
from sie.testing.cluster.served import Answer, Call
from sie.testing.cluster.vectors import BIG, BROKEN, FATAL, PAD, vector
from sie.wire.codec import pack, unpack

Shape = Literal["good", "half_broken", "broken", "fatal", "missing_model", "malformed", "no_items"]
Size = Literal["small", "long", "big result"]
"""`long`: no item fits a message of the broker. `big result`: no result does."""
LONG_CHARS = 6000
POOL_HEADER = "x-sie-pool"
PROFILE_HEADER = "x-sie-machine-profile"


@attrs.frozen
class Ask:
    """`clients` of them at once. `leaves_after_s`: they go away then, if they have no answer by that time."""

    gateway: int
    model: str
    items: int
    shape: Shape = "good"
    as_msgpack: bool = False
    leaves_after_s: float | None = None
    clients: int = 1
    pool: str | None = None
    profile: str | None = None
    size: Size = "small"

    @property
    def is_plain(self) -> bool:
        """To the model's own queue pool, whatever machines that has."""
        return self.pool is None and self.profile is None


@attrs.frozen
class Reading:
    """A 200 as the client sees it: the vectors of the items that succeeded, and the failed items' codes by index."""

    values: Mapping[str, Sequence[float]]
    order: tuple[str, ...]
    errors: Mapping[int, str]


def texts_of(ask: Ask, name: str) -> tuple[str, ...]:
    """Unique in the whole run, so that whatever is done with one can be told."""
    big = BIG if ask.size == "big result" else ""
    return tuple(f"{_marker(ask.shape, index)}{big}{name}.{index}" for index in range(ask.items))


def call_of(ask: Ask, name: str) -> Call:
    model = MISSING if ask.shape == "missing_model" else ask.model
    body = pack(_body(ask, name)) if ask.as_msgpack else json.dumps(_body(ask, name)).encode()
    kind = "application/msgpack" if ask.as_msgpack else "application/json"
    headers = {"content-type": kind, "accept": kind}
    if ask.pool is not None:
        headers[POOL_HEADER] = ask.pool
    if ask.profile is not None:
        headers[PROFILE_HEADER] = ask.profile
    return Call("POST", f"/v1/encode/{model}", headers, body)


def read_answer(answer: Answer) -> Reading:
    """Raises ValueError, KeyError or TypeError where it is no encode reply."""
    packed = answer.headers["content-type"] == "application/msgpack"
    body = unpack(answer.body) if packed else json.loads(answer.body)
    if not isinstance(body, Mapping):
        raise TypeError(f"an encode reply is no map: {body!r}")
    items = [(str(item["id"]), list(item["dense"]["values"])) for item in body["items"]]
    errors = {int(row["item_index"]): str(row.get("code")) for row in body.get("errors", ())}
    return Reading(dict(items), tuple(name for name, _ in items), errors)


def judge_reading(ask: Ask, name: str, reading: Reading) -> list[str]:
    """What is wrong with a 200: it holds each item once, in order, with its own vector, or that item's error."""
    wanted = tuple(item_id(name, index) for index in range(ask.items) if index not in reading.errors)
    found = list[str]()
    if reading.order != wanted or not set(reading.errors) <= set(range(ask.items)):
        found.append(f"{name} was answered with items {reading.order} and errors {dict(reading.errors)}")
    texts = {item_id(name, index): text for index, text in enumerate(texts_of(ask, name))}
    spoiled = {item_id(name, index) for index in range(ask.items) if is_spoiled(ask, index)}
    found += [
        f"{name} was answered with a vector for {key}, which has none" for key in reading.values if key in spoiled
    ]
    for key, values in reading.values.items():
        if key in texts and list(values) != vector(ask.model, texts[key]):
            found.append(f"{name} was answered with another text's or model's vector for {key}")
    return found


def is_spoiled(ask: Ask, index: int) -> bool:
    """Is it an item that no backend can answer?"""
    return bool(_marker(ask.shape, index))


def item_id(name: str, index: int) -> str:
    return f"{name}.{index}"


def error_code(answer: Answer) -> str:
    """The stable code of a refusal, whichever envelope it is in."""
    return str(_error(answer).get("code") or answer.headers.get("x-sie-error-code"))


def error_words(answer: Answer) -> str:
    return str(_error(answer).get("message"))


def _error(answer: Answer) -> Mapping[object, object]:
    packed = answer.headers.get("content-type") == "application/msgpack"
    body: object = unpack(answer.body) if packed else json.loads(answer.body)
    outer = body if isinstance(body, Mapping) else {}
    inner = outer.get("error") or outer.get("detail")
    return inner if isinstance(inner, Mapping) else {}


def _marker(shape: Shape, index: int) -> str:
    broken = shape == "broken" or (shape == "half_broken" and index % 2 == 0)
    return BROKEN if broken else FATAL if shape == "fatal" and index == 0 else ""


def _body(ask: Ask, name: str) -> object:
    if ask.shape == "malformed":
        return {"items": [{"text": 7}]}
    if ask.shape == "no_items":
        return {"items": []}
    least = LONG_CHARS if ask.size == "long" else 0
    texts = enumerate(text.ljust(least, PAD) for text in texts_of(ask, name))
    return {"items": [{"id": item_id(name, index), "text": text} for index, text in texts]}
