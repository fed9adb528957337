"""Which sequences are sent? A few requests each about a few models, drawn from a seed: writes, reads, and mistakes."""

import json
import random
from collections.abc import Callable, Iterator
from typing import TypeVar

import attrs

from ci.lib.compat_config_documents import ALIAS_IDS, RAW, WRONG_IDS, Config, Documents
from ci.lib.compat_config_flavors import ADMIN, FLAVORS, INFERENCE, READ, WHOLE
from ci.lib.compat_config_steps import MODELS, Request, Restart, Sequence, Step

T = TypeVar("T")

LIMIT_BYTES = 1_048_576
REPLAYS = 1000
LONG_RUN = 2000
"""Sequences from which on a run is to find every rule needed."""
_IDS = ("acme/a", "acme/b", "plain", "Acme/Z", "acme/a.b", "acme/x/y-1.0", "acme/seed", "acme/old", "acme/partial")
_TWINS = ("twin/x", "Twin/X")
_SPECS = ("{id}", "{id}:default", "{id}:fast", "alpha:/{id}", "BETA:/{id}", "tie:/{id}", "none:/{id}", "{upper}")
_BROKEN_SPECS: tuple[object, ...] = ("", ":", ":/", "alpha:/", "a:/b:/c", "a:b:c", ":x", " ", "x y", 1, None, [], True)
_JSON = ("", "{", "[]", "null", "1", '"x"', "{}", '{"model": "acme/seed", "bundle": 1}', "\udcff", '{"model": NaN}')
_TOKENS = (None, ADMIN, READ, INFERENCE, "wrong", "Bearer adm", "ADM")
_AUTHORIZATIONS = (
    "adm",
    "bearer adm",
    "BEARER  adm",
    "Bearer",
    "Bearer ",
    "Basic YWRt",
    " Bearer adm ",
    "Bearer\tadm",
    "",
)
_PATHS = (
    *("/", "/v1", "/v1/configs", "/v1/configs/", "/v1/configs/models/", "/v1/configs/models//x", "/v1/configs/epoch/"),
    *("/v1/configs/nothing", "/healthz", "/readyz", "/healthz/", "/v1/configs/bundles/", "/v1/configs/models?x=1"),
    *("/v1/configs/models/acme/seed/status", "/v1/configs/models/status", "/V1/configs/models", "/v1/configs/export?x"),
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FROB")
_FIXED = ("models", "epoch", "export", "bundles", "bundles/alpha", "resolve")
_BUNDLES = (
    "alpha",
    "beta",
    "Tie",
    "tie",
    "unlisted",
    "native",
    "odd-engine",
    "misplaced",
    "none",
    "..",
    "a%2Fb",
    "a/b",
)


@attrs.define
class _Drawing:
    """`sent` are the documents of this sequence so far, that later ones vary."""

    chance: random.Random
    ids: tuple[str, ...]
    documents: Documents
    sent: list[Config] = attrs.field(factory=list)

    def steps(self) -> Iterator[Step]:
        for _ in range(self.chance.randrange(2, 8)):
            request = self._with_headers(self._request())
            yield request
            if self.chance.random() < 0.08:
                yield request
        if self.chance.random() < 0.015:
            yield Restart()
        yield Request("GET", MODELS)
        for sie_id in self.ids:
            yield Request("GET", f"{MODELS}/{sie_id}")
        yield Request("GET", "/v1/configs/export")

    def _request(self) -> Request:
        draw: Callable[[], Request] = self.chance.choices(
            (self._post, self._put, self._delete, self._read, self._resolve, self._bundle, self._elsewhere, self._raw),
            (45, 14, 9, 9, 9, 3, 5, 8),
        )[0]
        return draw()

    def _with_headers(self, request: Request) -> Request:
        if request.is_write and self.chance.random() < 0.15:
            headers = {"Idempotency-Key": self.chance.choice(("k1", "k1", "k2", ""))}
            request = attrs.evolve(request, headers=headers)
        if self.chance.random() < 0.05:
            request = attrs.evolve(request, token=self.chance.choice(_TOKENS))
        elif self.chance.random() < 0.02:
            headers = {**request.headers, "Authorization": self.chance.choice(_AUTHORIZATIONS)}
            request = attrs.evolve(request, token=None, headers=headers)
        if self.chance.random() < 0.1:
            kind = self.chance.choice(("application/json", "application/x-yaml", "text/plain; charset=latin-1", "x"))
            request = attrs.evolve(request, headers={**request.headers, "Content-Type": kind})
        return request

    def _document(self, sie_id: str) -> Config:
        if self.sent and self.chance.random() < 0.6:
            config = {**self.chance.choice(self.sent)}
            if self.chance.random() < 0.25:
                return config
        else:
            config = self.documents.good(sie_id)
        if self.chance.random() < 0.45:
            config = self.documents.varied(config)
        self.sent.append(config)
        return config

    def _post(self) -> Request:
        sie_id = self._id()
        text = self.documents.text(self._document(sie_id))
        return Request("POST", MODELS, text, pad_to=self._padding(text))

    def _put(self) -> Request:
        sie_id = self._id()
        config = self._document(sie_id)
        if self.chance.random() < 0.3:
            config = {key: value for key, value in config.items() if key != "sie_id"}
        own = config.get("sie_id")
        target = own if isinstance(own, str) and own and self.chance.random() < 0.9 else sie_id
        text = self.documents.text(config)
        return Request("PUT", f"{MODELS}/{_quoted(target)}", text, pad_to=self._padding(text))

    def _delete(self) -> Request:
        return Request("DELETE", f"{MODELS}/{_quoted(self._id())}")

    def _padding(self, text: str) -> int:
        """A comment takes the body to the limit, or over it."""
        is_padded = self.chance.random() < 0.01 and text.endswith("\n")
        return self.chance.choice((LIMIT_BYTES, LIMIT_BYTES + 1)) if is_padded else 0

    def _read(self) -> Request:
        if self.chance.random() < 0.4:
            return Request("GET", f"/v1/configs/{self.chance.choice(_FIXED)}")
        profile = self.chance.choice(("", "", "", ":fast", ":default", ":nothing", ":"))
        return Request("GET", f"{MODELS}/{_quoted(self._id())}{profile}")

    def _resolve(self) -> Request:
        if self.chance.random() < 0.15:
            return Request("POST", "/v1/configs/resolve", self.chance.choice(_JSON))
        sie_id = self._id()
        spec: object = self.chance.choice(_SPECS).format(id=sie_id, upper=sie_id.upper())
        if self.chance.random() < 0.2:
            spec = self.chance.choice(_BROKEN_SPECS)
        asked: Config = {"model": spec}
        if self.chance.random() < 0.4:
            asked["bundle"] = self.chance.choice(("alpha", "ALPHA", "beta", "Tie", "none", "", None, 1, []))
        return Request("POST", "/v1/configs/resolve", json.dumps(asked))

    def _bundle(self) -> Request:
        method = self.chance.choice(("GET", "GET", "GET", "POST", "PUT", "DELETE"))
        return Request(method, f"/v1/configs/bundles/{self.chance.choice(_BUNDLES)}")

    def _elsewhere(self) -> Request:
        if self.chance.random() < 0.5:
            return Request(self.chance.choice(_METHODS[:5]), self.chance.choice(_PATHS))
        fixed = self.chance.choice((*_FIXED, "models/acme/seed"))
        return Request(self.chance.choice(_METHODS), f"/v1/configs/{fixed}")

    def _raw(self) -> Request:
        sie_id = self._id()
        text = self.chance.choice((self.chance.choice(RAW), self.documents.written_by_hand(sie_id)))
        if self.chance.random() < 0.2:
            return Request("PUT", f"{MODELS}/{_quoted(sie_id)}", text)
        return Request("POST", MODELS, text)

    def _id(self) -> str:
        if self.chance.random() < 0.04:
            return self.chance.choice(WRONG_IDS)
        return self.chance.choice(ALIAS_IDS) if self.chance.random() < 0.01 else self.chance.choice(self.ids)


def draw_sequence(name: str, flavor: str) -> Sequence:
    chance = random.Random(name)
    ids = _TWINS if chance.random() < 0.02 else tuple(chance.sample(_IDS, 2))
    return Sequence(name, flavor, tuple(_Drawing(chance, ids, Documents(chance)).steps()))


def eviction() -> Sequence:
    """One key more than are remembered, then the first again."""
    text = "sie_id: acme/a\nprofiles: {default: {adapter_path: 'acme.gen:Gen'}}\n"
    keys = (*range(REPLAYS + 1), 0)
    posts = (Request("POST", MODELS, text, headers={"Idempotency-Key": f"k{number}"}) for number in keys)
    return Sequence("eviction", WHOLE, tuple(posts))


def draw_all(seed: str, number: int) -> Iterator[Sequence]:
    """`number` of them, by flavor, each flavor at least once; a long run has the long sequence too."""
    rest = sum(flavor.share for flavor in FLAVORS.values())
    left = number
    for flavor, found in reversed(tuple(FLAVORS.items())):
        count = max(1, round(left * found.share / rest))
        rest, left = rest - found.share, left - count
        yield from (draw_sequence(f"{seed}.{flavor}.{n}", flavor) for n in range(count))
    if number >= LONG_RUN:
        yield eviction()


def _quoted(sie_id: str) -> str:
    """Only what a request line cannot carry; `..` stays as it is."""
    return "".join(
        c if 32 < ord(c) < 127 and c not in "#?" else "".join(f"%{b:02X}" for b in c.encode()) for c in sie_id
    )
