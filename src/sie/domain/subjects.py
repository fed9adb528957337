"""The NATS subject grammar (§8, §8.2): how lanes, models, workers and requests become subjects, streams and consumers.

Only this module writes subjects. No token holds `.`, `*`, `>` or a space, so the token count of a subject is fixed.
"""

from functools import lru_cache

from sie.domain.ids import BundleName, ModelId, PoolName, RequestId, RouterId, WorkerId
from sie.domain.lane import Lane

HEALTH_ALL = "sie.health.>"
HEALTH_ASK = "sie.ask.health"
"""Whoever publishes here wants every worker's heartbeat now. Outside `sie.health.>`, where each token is a worker."""
CONFIG_ALL = "sie.config.models._all"
"""Every delta, for gateways (§3)."""
WORK_CANCELS = "work_cancel.>"
"""Every gateway's word that a request is over (§8)."""
ADVISORIES = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>"
"""What JetStream tells of each message that it gives up, of any stream (§8)."""
DEAD_LETTERS = "DEAD_LETTERS"
DEAD_LETTERS_ALL = "sie.dlq.>"
_INBOX = "_INBOX"
_WORKER_STREAM = "WORK_WORKER_"
_DIRECT_TOKENS = 7
_MAX_TOKEN_CHARS = 512
"""A subject that was published once fits with another prefix, too."""
_NORMAL = str.maketrans({"/": "__", ".": "_dot_", "*": "_", ">": "_", " ": "_"})


def normalize_token(text: str) -> str:
    """One subject token for any id (§8.2). Not reversible: `a/b` and `a__b` meet in one token."""
    return text.translate(_NORMAL)


@lru_cache(4096)
def work_subject(lane: Lane, model: ModelId) -> str:
    """Exactly six tokens, whatever the model id holds."""
    return f"{_lane_prefix(lane)}.{normalize_token(model)}"


def direct_subject(lane: Lane, model: ModelId, worker: WorkerId) -> str:
    """Seven tokens: the pool's stream takes six (§8.2)."""
    return f"{work_subject(lane, model)}.{normalize_token(worker)}"


def is_direct(subject: str) -> bool:
    """Is this work for one worker by name?"""
    return subject.count(".") == _DIRECT_TOKENS - 1


def worker_stream(worker: WorkerId) -> str:
    return f"{_WORKER_STREAM}{normalize_token(worker)}"


def is_worker_stream(stream: str) -> bool:
    return stream.startswith(_WORKER_STREAM)


def worker_stream_subjects(lane: Lane, worker: WorkerId) -> tuple[str, ...]:
    return (f"{lane_filter(lane)}.{normalize_token(worker)}",)


def worker_consumer(worker: WorkerId) -> str:
    return f"gen-{normalize_token(worker)}"


def work_cancel_subject(router: RouterId, request: RequestId) -> str:
    return f"work_cancel.{router}.{request}"


def batch_cancel_subject(router: RouterId, worker: WorkerId, request: RequestId) -> str:
    return f"batch_cancel.{router}.{normalize_token(worker)}.{request}"


def work_stream(pool: PoolName) -> str:
    return f"WORK_POOL_{pool}"


def work_stream_subjects(pool: PoolName) -> tuple[str, ...]:
    return (f"sie.work.{pool}.*.*.*",)


def is_work_stream(stream: str) -> bool:
    return stream.startswith("WORK_")


def dead_letter_subject(work: str) -> str:
    """Filed under the model, the sixth token of the work's subject (§16.2); a subject of another shape as a whole."""
    tokens = work.split(".")
    token = normalize_token(tokens[5].replace("/", "_") if len(tokens) > 5 else work)
    return f"sie.dlq.{token[:_MAX_TOKEN_CHARS] or '_'}"


def lane_subject(work: str) -> str:
    """The pool's subject for work that may have been sent to one worker alone (§8.2)."""
    return ".".join(work.split(".")[:6])


def lane_filter(lane: Lane) -> str:
    """What the lane's durable consumer takes from the pool's stream: all models of one lane."""
    return f"{_lane_prefix(lane)}.*"


def lane_consumer(lane: Lane) -> str:
    return "_".join(map(normalize_token, (lane.pool, lane.machine_profile, lane.bundle)))


def health_subject(worker: WorkerId) -> str:
    return f"sie.health.{normalize_token(worker)}"


def config_subject(bundle: BundleName) -> str:
    """The deltas of one bundle, for its workers (§3)."""
    return f"sie.config.models.{normalize_token(bundle)}"


def inbox_prefix(router: RouterId) -> str:
    return f"{_INBOX}.{router}"


def result_subject(router: RouterId, request: RequestId) -> str:
    return f"{inbox_prefix(router)}.{request}"


def request_of_result(subject: str) -> RequestId | None:
    """The request that a message in a router's inbox answers; None where the subject is not of that shape."""
    tokens = subject.split(".")
    return RequestId(tokens[2]) if len(tokens) == 3 and tokens[0] == _INBOX and tokens[2] else None


def batch_cancels(worker: WorkerId) -> str:
    """What gateways withdraw from this worker."""
    return f"batch_cancel.*.{normalize_token(worker)}.*"


def _lane_prefix(lane: Lane) -> str:
    return f"sie.work.{lane.pool}.{normalize_token(lane.machine_profile)}.{normalize_token(lane.bundle)}"
