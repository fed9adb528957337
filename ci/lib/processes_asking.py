"""What do the clients of `ci/simulate --processes` ask? Request by request from the seed; pure."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal

import attrs

from sie.cli.settings import DEFAULT_MODEL
from sie.wire.codec import pack

Kind = Literal["encode", "partly", "broken", "unknown", "leaves"]
Form = Literal["json", "msgpack"]

KINDS: Mapping[Kind, int] = {"encode": 88, "partly": 2, "broken": 2, "unknown": 3, "leaves": 5}
"""Of a hundred. `partly` has one broken item among good ones, `broken` has no good one."""
SIZES: Sequence[int] = (1, 1, 2, 2, 3, 4)
LEAVES_WITHIN_S = 0.5
TEXTS = 300
WORDS = (
    *("amber", "anchor", "autumn", "barley", "bridge", "candle", "canyon", "cedar", "copper", "desert", "engine"),
    *("falcon", "garden", "glacier", "harbor", "hunter", "island", "ladder", "lantern", "marble", "meadow", "mirror"),
    *("needle", "orchard", "piano", "planet", "prairie", "river", "saddle", "shadow", "silver", "station", "temple"),
    *("thunder", "tiger", "tunnel", "valley", "violin", "window", "winter"),
)
MEDIA: Mapping[Form, str] = {"json": "application/json", "msgpack": "application/msgpack"}
UNKNOWN = "nobody/has-this-model"
PICTURE = b"no text at all"


@attrs.frozen
class Ask:
    """`texts` are places in the corpus. `broken_at` is where the broken item stands among them. `model` as a request
    names it, which may be with its bundle.
    """

    number: int
    kind: Kind
    form: Form
    texts: tuple[int, ...]
    broken_at: int = 0
    leaves_after_s: float | None = None
    model: str = DEFAULT_MODEL

    @property
    def path(self) -> str:
        return f"/v1/encode/{UNKNOWN if self.kind == 'unknown' else self.model}"

    @property
    def media(self) -> str:
        return MEDIA[self.form]


def corpus(seed: int) -> tuple[str, ...]:
    """Different short texts, so that each has a vector of its own."""
    luck, found = Random(f"corpus {seed}"), dict[str, None]()
    while len(found) < TEXTS:
        found[" ".join(luck.sample(WORDS, luck.randint(3, 6)))] = None
    return tuple(found)


def draw_ask(seed: int, number: int, texts: int = TEXTS) -> Ask:
    luck = Random(f"ask {seed} {number}")
    kind = luck.choices(list(KINDS), list(KINDS.values()))[0]
    chosen = tuple(luck.randrange(texts) for _ in range(luck.choice(SIZES)))
    leaves_after_s = luck.uniform(0, LEAVES_WITHIN_S) if kind == "leaves" else None
    form: Form = luck.choice(("json", "msgpack"))
    return Ask(number, kind, form, chosen, luck.randint(0, len(chosen)), leaves_after_s)


def body_of(ask: Ask, texts: Sequence[str]) -> bytes:
    items: list[Mapping[str, object]] = [{"text": texts[place]} for place in ask.texts]
    if ask.kind == "broken":
        items = [_broken(ask.form)]
    elif ask.kind == "partly":
        items.insert(ask.broken_at, _broken(ask.form))
    document = {"items": items}
    return pack(document) if ask.form == "msgpack" else json.dumps(document).encode()


def _broken(form: Form) -> Mapping[str, object]:
    """A picture, for a model of texts: the gateway takes it, and only a worker finds out."""
    data = PICTURE if form == "msgpack" else b64encode(PICTURE).decode()
    return {"images": [{"data": data, "format": "png"}]}
