"""Which settings do a pool's work stream and a lane's consumer have (§8.2)? Whoever ensures one takes it here."""

from collections.abc import Mapping

import attrs

from sie.bus.jetstream_api import ConsumerSpec, Storage, StreamSpec
from sie.domain.ids import PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.subjects import (
    lane_consumer,
    lane_filter,
    work_stream,
    work_stream_subjects,
    worker_consumer,
    worker_stream,
    worker_stream_subjects,
)

MAX_MSGS = 100_000
ACK_WAIT_S = 30.0
MAX_DELIVER = 20
MAX_ACK_PENDING = 1000
_STORAGE: Mapping[str, Storage] = {"memory": "memory", "file": "file"}


def work_stream_spec(pool: PoolName, *, storage: str, replicas: int, max_age_s: float) -> StreamSpec:
    """Raises ValueError on a storage that does not exist, or where work would expire before its last delivery."""
    if storage not in _STORAGE:
        raise ValueError(f"SIE_STREAM_STORAGE must be one of {', '.join(_STORAGE)}, not {storage!r}")
    if replicas < 1:
        raise ValueError(f"SIE_STREAM_REPLICAS must be at least 1, not {replicas}")
    tried_s = MAX_DELIVER * ACK_WAIT_S
    if tried_s >= max_age_s:
        raise ValueError(
            f"SIE_STREAM_MAX_AGE_S is {max_age_s:g}, and must be above {tried_s:g}, which is max_deliver {MAX_DELIVER} "
            f"x ack_wait {ACK_WAIT_S:g} s: a payload must outlive its last delivery"
        )
    return StreamSpec(
        name=work_stream(pool),
        subjects=work_stream_subjects(pool),
        retention="workqueue",
        storage=_STORAGE[storage],
        replicas=replicas,
        max_age_s=max_age_s,
        max_msgs=MAX_MSGS,
        discard="new",
    )


def worker_stream_spec(lane: Lane, worker: WorkerId, *, storage: str, replicas: int, max_age_s: float) -> StreamSpec:
    """Of the work that is for this worker by name (§8.2). Raises as `work_stream_spec` does."""
    shared = work_stream_spec(lane.pool, storage=storage, replicas=replicas, max_age_s=max_age_s)
    return attrs.evolve(shared, name=worker_stream(worker), subjects=worker_stream_subjects(lane, worker))


def lane_consumer_spec(lane: Lane) -> ConsumerSpec:
    """The durable that every worker of the lane pulls from; it takes all models of the lane."""
    return ConsumerSpec(
        stream=work_stream(lane.pool),
        name=lane_consumer(lane),
        filter_subject=lane_filter(lane),
        ack_wait_s=ACK_WAIT_S,
        max_deliver=MAX_DELIVER,
        max_ack_pending=MAX_ACK_PENDING,
    )


def worker_consumer_spec(lane: Lane, worker: WorkerId) -> ConsumerSpec:
    """The durable of the worker's own stream."""
    return attrs.evolve(
        lane_consumer_spec(lane),
        stream=worker_stream(worker),
        name=worker_consumer(worker),
        filter_subject=worker_stream_subjects(lane, worker)[0],
    )
