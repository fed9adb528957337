"""Every ending has exactly one answer, and the answer loses none of the items' fates."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ERRORS, ErrorCode
from sie.gateway.core.collect import Collected
from sie.gateway.core.outcome import MAX_RETRY_AFTER_S, Answered, Failed, decide_outcome
from sie.wire.result import WorkResult

CODES = st.one_of(st.none(), st.sampled_from([code.value for code in ErrorCode]), st.text(max_size=8))


@st.composite
def results(draw: st.DrawFn) -> tuple[WorkResult, ...]:
    rows = draw(
        st.lists(st.tuples(st.booleans(), CODES, st.one_of(st.none(), st.integers(-5, 100))), min_size=1, max_size=6)
    )
    return tuple(
        WorkResult(
            work_item_id=f"r.{index}",
            request_id="r",
            item_index=index,
            success=success,
            result_msgpack=bytes([index]) if success else None,
            error=None if success else "why",
            error_code=None if success else code,
            retry_after_s=retry_after_s,
        )
        for index, (success, code, retry_after_s) in enumerate(rows)
    )


@given(results())
def test_successes_keep_their_order_and_failures_are_listed(collected: tuple[WorkResult, ...]) -> None:
    outcome = decide_outcome(Collected(collected), missing=0, timeout_s=1.0)
    failed = [r.item_index for r in collected if not r.success]
    if len(failed) == len(collected):
        assert isinstance(outcome, Failed)
        return
    assert isinstance(outcome, Answered)
    assert list(outcome.blobs) == [r.result_msgpack for r in collected if r.success]
    assert [row["item_index"] for row in outcome.errors] == failed


@given(results())
def test_a_failed_outcome_has_a_rule_and_a_sane_retry(collected: tuple[WorkResult, ...]) -> None:
    outcome = decide_outcome(Collected(collected), missing=0, timeout_s=1.0)
    if isinstance(outcome, Failed):
        assert ERRORS[outcome.code].status >= 400
        assert outcome.retry_after_s is None or 1 <= outcome.retry_after_s <= MAX_RETRY_AFTER_S
        codes = {r.error_code for r in collected}
        assert (outcome.code.value in codes) or outcome.code is ErrorCode.ALL_ITEMS_FAILED


@given(st.sampled_from(("OOM", "GATED", None)), st.none() | st.integers(-1, 9), st.none() | st.booleans())
def test_a_load_that_failed_is_told_as_its_worker_told_it(
    error_class: str | None, attempts: int | None, permanent: bool | None
) -> None:
    result = WorkResult(
        work_item_id="r.0",
        request_id="r",
        item_index=0,
        success=False,
        error="why",
        error_code="MODEL_LOAD_FAILED",
        error_class=error_class,
        attempts=attempts,
        permanent=permanent,
    )
    outcome = decide_outcome(Collected((result,)), missing=0, timeout_s=1.0)
    assert isinstance(outcome, Failed)
    assert outcome.extra["error_class"] == (error_class or "UNKNOWN")
    assert outcome.extra["permanent"] is (permanent is not False)
    assert outcome.extra["attempts"] == (attempts if attempts and attempts > 0 else 1)


@given(st.integers(1, 5), st.floats(0.1, 1000))
def test_time_running_out_is_told_with_what_is_missing(missing: int, timeout_s: float) -> None:
    outcome = decide_outcome(None, missing=missing, timeout_s=timeout_s)
    assert isinstance(outcome, Failed)
    assert outcome.code is ErrorCode.GATEWAY_TIMEOUT
    assert str(missing) in outcome.message
