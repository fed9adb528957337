"""The board of models: what is due is loaded once, what rests is refused, what is loaded is not asked for again."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.wire.ipc import Failed, ModelUpdate
from sie.worker.core.cooldowns import COOLDOWN_S, MAX_ATTEMPTS, MAX_COOLDOWN_S
from sie.worker.core.models import ModelStates
from sie.worker.core.readiness import Coming, Ready, Refused

NAMES = ("a", "b", "c")
STEPS = ("ask", "preload", "due", "succeed", "fail", "fail for good", "die", "update")
histories = st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES), st.floats(0, 2000)), max_size=50)


def failed(*, permanent: bool) -> Failed:
    return Failed(id=1, error_code="MODEL_LOAD_FAILED", error="no", permanent=permanent, error_class="ENGINE")


@given(histories)
def test_a_load_is_under_way_at_most_once_and_never_for_what_is_loaded(
    history: list[tuple[str, str, float]],
) -> None:
    board, under_way, returning, now_s = ModelStates(), set[str](), set[str](), 0.0
    for step, name, passed_s in history:
        now_s += passed_s
        match step:
            case "ask":
                assert isinstance(board.judge(name, now_s=now_s), Ready) == (name in board.loaded)
            case "preload":
                board.preload([name])
            case "due":
                due = set(board.take_due(now_s=now_s).loads)
                assert not due & (board.loaded | under_way | returning)
                under_way |= due
            case "succeed" if name in under_way | returning:
                board.succeed(name)
            case "fail" | "fail for good" if name in under_way | returning:
                board.fail(name, failed(permanent=step != "fail"), now_s=now_s)
            case "die":
                returning |= board.loaded
                board.die()
            case "update":
                board.receive(ModelUpdate(serving_id=name, state="loading", activity="compiling 1/2"))
            case _:
                continue
        if step in ("succeed", "fail", "fail for good"):
            under_way.discard(name)
            returning.discard(name)
        loaded = {state.serving_id for state in board.states() if state.state == "loaded"}
        assert loaded == board.loaded


@given(st.floats(0, 1e6), st.integers(1, MAX_ATTEMPTS - 1))
def test_a_model_that_failed_rests_longer_each_time_and_is_refused_meanwhile(now_s: float, failures: int) -> None:
    board = ModelStates()
    for attempt in range(1, failures + 1):
        assert board.judge("a", now_s=now_s) == Coming()
        assert board.take_due(now_s=now_s).loads == ("a",)
        board.fail("a", failed(permanent=False), now_s=now_s)
        rest_s = min(COOLDOWN_S["ENGINE"] * 2 ** (attempt - 1), MAX_COOLDOWN_S)
        refused = board.judge("a", now_s=now_s + rest_s / 2)
        assert isinstance(refused, Refused)
        assert refused.code is ErrorCode.MODEL_LOAD_FAILED
        assert refused.retry_after_s is not None
        assert 1 <= refused.retry_after_s <= rest_s
        assert refused.load is not None
        assert (refused.load.attempts, refused.load.permanent) == (attempt, False)
        assert board.take_due(now_s=now_s + rest_s / 2).loads == ()
        now_s += rest_s + 1e-3


@given(st.floats(0, 1e9))
def test_a_model_that_failed_for_good_is_refused_for_ever(now_s: float) -> None:
    board = ModelStates()
    board.preload(["a"])
    board.take_due(now_s=0)
    board.fail("a", failed(permanent=True), now_s=0)
    refused = board.judge("a", now_s=now_s)
    assert isinstance(refused, Refused)
    assert refused.retry_after_s is None
    assert board.take_due(now_s=now_s).loads == ()
    assert board.next_due_s(now_s=now_s) == float("inf")
    assert not board.has_preloaded()


@given(st.floats(0, 1e6))
def test_a_preloaded_model_is_due_again_by_itself(now_s: float) -> None:
    board = ModelStates()
    board.preload(["a"])
    board.take_due(now_s=now_s)
    board.fail("a", failed(permanent=False), now_s=now_s)
    due_s = board.next_due_s(now_s=now_s)
    assert now_s < due_s < float("inf")
    assert board.take_due(now_s=due_s).loads == ("a",)


@given(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_a_preload_counts_while_its_model_comes_back_after_a_death(preload: set[str], loaded: set[str]) -> None:
    board = ModelStates()
    board.preload(preload)
    for name in loaded:
        board.succeed(name)
    assert board.has_preloaded() == (preload <= loaded)
    board.die()
    assert board.has_preloaded() == (preload <= loaded)
    assert board.loaded == set()
    for name in loaded:
        board.fail(name, failed(permanent=False), now_s=0)
    assert board.has_preloaded() == (not preload)


@given(
    st.lists(st.tuples(st.sampled_from(("serve", "pin", "due")), st.sets(st.sampled_from(NAMES))), max_size=20),
    st.sets(st.sampled_from(NAMES)),
)
def test_what_is_served_and_pinned_is_loaded_and_nothing_else_is_for_a_pins_sake(
    history: list[tuple[str, set[str]]], last: set[str]
) -> None:
    board, served, pinned, was_due = ModelStates(), set[str](), set[str](), set[str]()
    for step, names in [*history, ("pin", last), ("due", set())]:
        match step:
            case "serve":
                served = names
                board.install(served, ())
                was_due &= served
            case "pin":
                pinned = names
                board.pin(pinned)
            case _:
                due = set(board.take_due(now_s=0).loads)
                assert due == (served & pinned) - was_due
                assert board.has_preloaded()
                was_due |= due
                for name in due:
                    board.succeed(name)


@given(st.floats(0, 1e6), st.booleans())
def test_a_model_that_failed_is_due_again_by_itself_while_it_is_pinned(now_s: float, still_pinned: bool) -> None:
    board = ModelStates()
    board.install(["a"], ())
    board.pin(["a"])
    assert board.take_due(now_s=now_s).loads == ("a",)
    board.fail("a", failed(permanent=False), now_s=now_s)
    board.pin(["a"] if still_pinned else [])
    due_s = board.next_due_s(now_s=now_s)
    assert (due_s < float("inf")) == still_pinned
    if still_pinned:
        assert board.take_due(now_s=due_s).loads == ("a",)


@given(st.text())
def test_the_backend_may_name_no_code_that_is_not_ours(code: str) -> None:
    board = ModelStates()
    board.fail("a", Failed(id=1, error_code=code, error="no"), now_s=0)
    (state,) = board.states()
    assert state.error_code in list(ErrorCode)


@given(
    st.lists(st.tuples(st.sampled_from([*STEPS, "change", "take away", "give"]), st.sampled_from(NAMES)), max_size=60)
)
def test_what_is_loaded_was_loaded_as_its_configuration_reads_now(history: list[tuple[str, str]]) -> None:
    board, served, version = ModelStates(), set(NAMES), dict.fromkeys(NAMES, 0)
    coming, there = dict[str, int](), dict[str, int]()
    board.install(served, ())
    for number, (step, name) in enumerate(history):
        now_s = 4000.0 * number
        match step:
            case "ask" if name in served:
                board.judge(name, now_s=now_s)
            case "due":
                coming.update({due: version[due] for due in board.take_due(now_s=now_s).loads})
            case "succeed" if name in coming:
                there[name] = coming.pop(name)
                board.succeed(name)
            case "fail" if name in coming:
                coming.pop(name)
                board.fail(name, failed(permanent=False), now_s=now_s)
            case "die":
                coming.update({name: there[name] for name in board.loaded})
                board.die()
            case "change" | "take away" | "give":
                version[name] += step != "give"
                served = served - {name} if step == "take away" else served | {name}
                board.install(served, [name] if name in served else [])
            case _:
                continue
        assert board.loaded <= served
        assert all(there[name] == version[name] for name in board.loaded)
        assert {state.serving_id for state in board.states()} <= served | set(coming)
