"""A model that failed rests for the time of its class, and its callers are told for how long."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.wire.ipc import Failed
from sie.worker.core.cooldowns import CLASSES, cooldown_s
from sie.worker.core.readiness import Rest, decide_rest

failures = st.builds(
    Failed,
    id=st.just(0),
    error_code=st.text() | st.sampled_from(ErrorCode),
    error=st.text(),
    permanent=st.booleans(),
    error_class=st.sampled_from(sorted(CLASSES)) | st.text() | st.none(),
)


@given(st.lists(failures, min_size=1, max_size=12), st.floats(0, 1e6))
def test_each_failure_counts_and_a_refusal_says_what_the_last_was(told: list[Failed], now_s: float) -> None:
    rest: Rest | None = None
    for count, failure in enumerate(told, 1):
        rest = decide_rest(failure, rest, now_s=now_s)
        assert rest.load.attempts == count
        assert rest.until_s == now_s + cooldown_s(rest.load)
        refused = rest.refuse(now_s=now_s)
        assert (refused.message, refused.load) == (failure.error, rest.load)
        assert refused.code in ErrorCode
        assert (refused.retry_after_s is None) == rest.load.permanent
