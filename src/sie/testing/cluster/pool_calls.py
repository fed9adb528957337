"""Clients of pools: what they ask of a gateway, and what a pool's document tells (wire-facts 4.4)."""

import json
from collections.abc import Mapping
from typing import Literal

import attrs

from sie.testing.cluster.served import Call

Verb = Literal["put", "renew", "delete", "get", "list"]
POOL_NAMES = ("acme", "b_", "c-")
"""The last two need another name in Kubernetes."""
PROFILE = "default"
"""Of every worker of a simulated cluster."""
PATH = "/v1/pools"


@attrs.frozen
class PoolCall:
    """`clients` of them at once, each at the next gateway. A put needs `needs` workers, holds at most `cap` where there
    is one, and lasts `ttl_s`.
    """

    verb: Verb
    gateway: int
    name: str
    needs: int | None = None
    cap: int | None = None
    ttl_s: int = 50
    clients: int = 1
    leaves_after_s: float | None = None

    @property
    def is_bad(self) -> bool:
        """Nobody may take it."""
        return self.verb == "put" and self.cap is not None and self.cap < (self.needs or 0)


def spec_of(call: PoolCall, mark: int) -> Mapping[str, object]:
    """As pools are told; the warm floor tells one client's from another's."""
    return {
        "name": call.name,
        "gpus": {} if call.needs is None else {PROFILE: call.needs},
        "gpu_caps": {} if call.cap is None else {PROFILE: call.cap},
        "bundle": None,
        "queue_pool": "default",
        "ttl_seconds": call.ttl_s,
        "minimum_worker_count": mark,
        "pinned_models": [],
    }


def pool_call(call: PoolCall, mark: int) -> Call:
    match call.verb:
        case "put":
            body = json.dumps(spec_of(call, mark)).encode()
            return Call("POST", PATH, {"content-type": "application/json"}, body)
        case "renew":
            return Call("POST", f"{PATH}/{call.name}/renew")
        case "delete":
            return Call("DELETE", f"{PATH}/{call.name}")
        case "get":
            return Call("GET", f"{PATH}/{call.name}")
        case "list":
            return Call("GET", PATH)


@attrs.frozen
class ShownPool:
    """A pool as a gateway tells it; `workers` in the order told."""

    name: str
    spec: Mapping[str, object]
    created_s: float
    renewed_s: float
    workers: tuple[str, ...]

    @property
    def cap(self) -> int | None:
        return cap_of(self.spec)


def cap_of(spec: Mapping[str, object]) -> int | None:
    """How many workers it may hold at most: of the one profile that there is. None: all."""
    gpus, caps = spec["gpus"], spec["gpu_caps"]
    assert isinstance(gpus, Mapping)
    assert isinstance(caps, Mapping)
    found = caps.get(PROFILE)
    return int(found) if found is not None else None


def read_pool_document(document: Mapping[str, object]) -> ShownPool:
    """Raises KeyError where it is none."""
    spec, status = document["spec"], document["status"]
    assert isinstance(spec, Mapping)
    assert isinstance(status, Mapping)
    workers = tuple(str(row["name"]) for row in status["assigned_workers"])
    return ShownPool(str(document["name"]), spec, status["created_at"], status["last_renewed"], workers)


def read_pools(body: bytes) -> dict[str, ShownPool]:
    """Of a listing, by name."""
    rows = json.loads(body)["pools"]
    return {row["name"]: read_pool_document(row) for row in rows}
