"""What may a client be told when it is not told its result, and what must have gone wrong for that?

Each refusal is tied to trouble in the request's lifetime, or over for no longer than the cluster has to recover from
it; where it can be told from outside what the gateway knows, to exactly that.
"""

from collections.abc import Mapping

from sie.testing.cluster.catalogue import SERVED
from sie.testing.cluster.client import Ask, Shape
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.facts import GatewayFacts
from sie.testing.cluster.pool_calls import PROFILE
from sie.testing.cluster.weather import (
    CHILD_DIED,
    GATEWAY_STARTED,
    LANE_CHANGED,
    LOAD_FAILED,
    PAYLOADS_AWAY,
    PAYLOADS_LOST,
    WORKER_AWAY,
)
from sie.testing.simulation.excuses_pools import may_refuse_in_pool

BROKER = ("BrokerRestarts", "BrokerDown", "ConnectionCut", "Partition", "Latency", "MessagesLost")
RECONNECT_S = 5.0
"""Two seconds between tries, and a consumer that is made again within the same."""
PULL_S = 30.0
"""A pull that was lost is asked again after 25 s."""
BATCH_S = 36.0
"""A batch that a slow child began runs on as slowly."""
ENSURE_S = 10.0
"""Until each worker has made its consumer again, over a connection that was slow."""
NO_CONSUMER = "PROVISIONING, for nobody takes work"
"""Workers are heard of, and none has its consumer: told apart by its words."""
REST_S = 150.0
"""A model whose backend died three times in its load rests for 30 s, then for 60 s; a request may meet all of that."""
_BROKEN_MODEL = {LOAD_FAILED: 1.0, CHILD_DIED: REST_S}

EXCUSES: Mapping[str, Mapping[str, float]] = {
    NO_CONSUMER: {**dict.fromkeys(BROKER, ENSURE_S), WORKER_AWAY: ENSURE_S},
    "QUEUE_UNAVAILABLE": {**dict.fromkeys(BROKER, RECONNECT_S), GATEWAY_STARTED: 0.1, PAYLOADS_AWAY: 0.0},
    "GATEWAY_TIMEOUT": {
        **dict.fromkeys(BROKER, PULL_S),
        WORKER_AWAY: RECONNECT_S,
        CHILD_DIED: RECONNECT_S,
        "ChildSlow": BATCH_S,
        "ClockJumps": 0.0,
        PAYLOADS_AWAY: PULL_S,
        LANE_CHANGED: 0.0,
    },
    "MODEL_LOADING": _BROKEN_MODEL,
    "MODEL_LOAD_FAILED": _BROKEN_MODEL,
    "all_items_failed": {**_BROKEN_MODEL, PAYLOADS_LOST: 0.0},
    "PAYLOAD_UNAVAILABLE": {PAYLOADS_LOST: 0.0},
    "inference_error": {CHILD_DIED: 0.0},
}
"""By code: the trouble that excuses it, and for how many seconds after its end. Any other code is never right."""
OWN: Mapping[Shape, frozenset[str]] = {
    "broken": frozenset({"all_items_failed"}),
    "fatal": frozenset({"all_items_failed"}),
    "missing_model": frozenset({"MODEL_NOT_FOUND"}),
    "malformed": frozenset({"INVALID_REQUEST"}),
    "no_items": frozenset({"INVALID_INPUT"}),
}
"""What a request of this shape is told when all is well."""


def is_excused(cluster: Cluster, code: str, asked_s: float, now_s: float) -> bool:
    allowed = EXCUSES.get(code, {})
    return any(over_s <= now_s - asked_s + allowed.get(kind, -1e9) for kind, over_s in cluster.weather.ages_s())


def reason_of(code: str, words: str) -> str:
    """What is looked up among the excuses."""
    return NO_CONSUMER if code == "PROVISIONING" and "nobody takes work" in words else code


def may_refuse(cluster: Cluster, gateway: GatewayFacts, ask: Ask, code: str, asked_s: float, now_s: float) -> bool:
    """`gateway` is the one that was asked, in its life at that time."""
    only_spoiled = ask.shape == "half_broken" and ask.items == 1 and code == "all_items_failed"
    if code in OWN.get(ask.shape, ()) or only_spoiled:
        return True
    if code == "GPU_NOT_CONFIGURED":
        return ask.profile not in (None, PROFILE)
    if ask.pool is not None and may_refuse_in_pool(cluster, gateway, ask.pool, code, asked_s, now_s):
        return True
    if ask.model not in SERVED and code in ("MODEL_NOT_FOUND", "PROVISIONING"):
        return True  # clients write it and take it away; at rest it is asked for again
    just_read = not gateway.link.has_read or gateway.link.read_s >= asked_s
    if code == "MODEL_NOT_FOUND":
        return just_read
    if code == "PROVISIONING":
        return just_read or gateway.is_unsure or not gateway.must_use(gateway.link.lane_hash, asked_s)
    return is_excused(cluster, code, asked_s, now_s)
