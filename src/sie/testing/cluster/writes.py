"""Clients that write configuration: what they send, and what the answer means for the store."""

import json
from collections.abc import Mapping
from typing import Literal

import attrs

from sie.testing.cluster.catalogue import document
from sie.testing.cluster.served import Answer, Call

Verb = Literal["post", "put", "delete"]
Kind = Literal["good", "conflict", "alien", "broken"]
Outcome = Literal["done", "unchanged", "refused", "unknown", "broken"]

UNKNOWN_CODES = frozenset({"idempotent_inflight_cancelled", "idempotent_inflight_aborted"})
"""Another request did the write: what became of that one is not told."""
UNKNOWN_WORDS = ("may have been written", "nothing was stored within")


@attrs.frozen
class Write:
    """`clients` of them at once. Those with a `key` send it, and the same body whoever they are; every other client
    writes a profile of its own. `config` 1 is the second config process, which is rarely there.
    """

    verb: Verb
    model: str
    kind: Kind = "good"
    key: int | None = None
    clients: int = 1
    config: int = 0
    leaves_after_s: float | None = None

    @property
    def is_bad(self) -> bool:
        """Nobody may take it, whatever stands."""
        return self.kind in ("alien", "broken")


@attrs.frozen
class Read:
    """Of the config service's export, or of what a gateway holds."""

    what: Literal["export", "replica"]
    number: int = 0


def mark_of(write: Write, number: int) -> str:
    """`number` is the client's own."""
    return f"w{number}" if write.key is None else f"k{write.key}"


def write_call(write: Write, mark: str) -> Call:
    headers = {"idempotency-key": mark} if write.key is not None else {}
    if write.verb == "delete":
        return Call("DELETE", f"/v1/configs/models/{write.model}", headers)
    body = _body(write, mark).encode()
    if write.verb == "put":
        return Call("PUT", f"/v1/configs/models/{write.model}", headers, body)
    return Call("POST", "/v1/configs/models", headers, body)


def judge_outcome(answer: Answer) -> Outcome:
    """`broken` is an answer that no write may have."""
    body: object = json.loads(answer.body) if answer.body.startswith(b"{") else None
    if not isinstance(body, Mapping):
        return "broken"
    if answer.status in (200, 201):
        changed = answer.status == 201 or body.get("replaced") is True or body.get("deleted") is True
        return "done" if changed else "unchanged"
    if not (400 <= answer.status < 500 or answer.status == 503):
        return "broken"
    text = answer.body.decode()
    unclear = any(code in text for code in UNKNOWN_CODES) or any(words in text for words in UNKNOWN_WORDS)
    return "unknown" if unclear else "refused"


def _body(write: Write, mark: str) -> str:
    match write.kind:
        case "good":
            return document(write.model, mark)
        case "conflict":  # with whoever has the profile as the folders have it
            return document(write.model, mark).replace("max_batch_tokens: 8", "max_batch_tokens: 9")
        case "alien":
            return document(write.model, mark, adapter="acme.unheard_of")
        case "broken":
            return f"sie_id: {write.model}\nprofiles: [\n"
