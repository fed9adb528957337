"""The subjects of the reference's own examples (§8.2, wire-facts 2.1)."""

import pytest

from sie.domain import subjects
from sie.domain.ids import BundleName, MachineProfile, ModelId, PoolName, RequestId, RouterId, WorkerId
from sie.domain.lane import Lane

LANE = Lane(PoolName("default"), MachineProfile("rtx6000"), BundleName("default"))


def test_the_references_example_has_its_subject() -> None:
    subject = subjects.work_subject(LANE, ModelId("vidore/colqwen2.5-v0.2"))
    assert subject == "sie.work.default.rtx6000.default.vidore__colqwen2_dot_5-v0_dot_2"


def test_a_pools_stream_takes_one_token_each_for_profile_bundle_and_model() -> None:
    assert subjects.work_stream(LANE.pool) == "WORK_POOL_default"
    assert subjects.work_stream_subjects(LANE.pool) == ("sie.work.default.*.*.*",)


def test_a_lane_with_dots_in_its_names_stays_one_lane() -> None:
    lane = Lane(PoolName("team-a"), MachineProfile("h200.8x"), BundleName("sglang.v1"))
    assert subjects.lane_filter(lane) == "sie.work.team-a.h200_dot_8x.sglang_dot_v1.*"
    assert subjects.lane_consumer(lane) == "team-a_h200_dot_8x_sglang_dot_v1"


def test_a_worker_and_a_router_have_their_own_subjects() -> None:
    assert subjects.health_subject(WorkerId("worker-0.svc")) == "sie.health.worker-0_dot_svc"
    assert subjects.result_subject(RouterId("r1"), RequestId("42")) == "_INBOX.r1.42"


@pytest.mark.parametrize("subject", ["", "_INBOX", "_INBOX.r1", "_INBOX.r1.", "_INBOX.r1._ack.7", "sie.health.w"])
def test_another_subject_names_no_request(subject: str) -> None:
    assert subjects.request_of_result(subject) is None
