"""The settings of work streams and lane consumers (§8.2, decisions): exact, or refused where work would be lost."""

import pytest

from sie.bus.jetstream_api import ConsumerSpec, StreamSpec
from sie.bus.work_streams import ACK_WAIT_S, MAX_DELIVER, lane_consumer_spec, work_stream_spec
from sie.domain.ids import BundleName, MachineProfile, PoolName
from sie.domain.lane import Lane

POOL = PoolName("team-a")


def test_a_pools_stream_has_the_documented_settings() -> None:
    assert work_stream_spec(POOL, storage="memory", replicas=1, max_age_s=1800) == StreamSpec(
        name="WORK_POOL_team-a",
        subjects=("sie.work.team-a.*.*.*",),
        retention="workqueue",
        storage="memory",
        replicas=1,
        max_age_s=1800,
        max_msgs=100_000,
        discard="new",
    )


def test_a_lanes_consumer_takes_all_models_of_one_lane() -> None:
    assert lane_consumer_spec(Lane(POOL, MachineProfile("l4.x"), BundleName("default"))) == ConsumerSpec(
        stream="WORK_POOL_team-a",
        name="team-a_l4_dot_x_default",
        filter_subject="sie.work.team-a.l4_dot_x.default.*",
        ack_wait_s=30.0,
        max_deliver=20,
        max_ack_pending=1000,
    )


@pytest.mark.parametrize("max_age_s", [0, 1, MAX_DELIVER * ACK_WAIT_S])
def test_an_age_that_ends_before_the_last_delivery_is_refused_with_both_numbers(max_age_s: float) -> None:
    with pytest.raises(ValueError, match=rf"{max_age_s:g}.*{MAX_DELIVER} x ack_wait {ACK_WAIT_S:g}"):
        work_stream_spec(POOL, storage="memory", replicas=1, max_age_s=max_age_s)


def test_the_first_age_above_the_last_delivery_is_taken() -> None:
    assert work_stream_spec(POOL, storage="file", replicas=3, max_age_s=601).max_age_s == 601


@pytest.mark.parametrize(("storage", "replicas"), [("disk", 1), ("", 1), ("memory", 0)])
def test_a_stream_that_no_broker_makes_is_refused(storage: str, replicas: int) -> None:
    with pytest.raises(ValueError, match="SIE_STREAM_"):
        work_stream_spec(POOL, storage=storage, replicas=replicas, max_age_s=1800)
