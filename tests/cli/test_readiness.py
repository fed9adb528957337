"""When the system counts as ready, and what is said until then."""

import json

import pytest

from sie.cli.readiness import Broken, Busy, Ready, State, all_loaded, judge_worker, read_workers

MODEL = "org/model"


def health(*models: object, name: str = "worker-2", healthy: bool = True) -> bytes:
    return json.dumps({"workers": [{"name": name, "healthy": healthy, "models": models}]}).encode()


def judge(body: bytes | None, *wanted: str) -> State | None:
    return judge_worker(read_workers(body), "worker-2", wanted)


def test_a_worker_whose_models_are_loaded_is_ready() -> None:
    assert judge(health({"name": MODEL, "state": "loaded"}), MODEL) == Ready()


def test_a_worker_that_was_asked_for_nothing_is_ready_when_it_is_healthy() -> None:
    assert judge(health()) == Ready()
    assert judge(health(healthy=False)) == Busy("not taking work yet")


def test_a_former_life_of_the_worker_says_nothing_of_this_one() -> None:
    assert judge(health({"name": MODEL, "state": "loaded"}, name="worker-1"), MODEL) is None


def test_what_the_model_does_is_shown_word_for_word() -> None:
    assert judge(health({"name": MODEL, "state": "loading", "activity": "compiling 3/8"}), MODEL) == Busy(
        "compiling 3/8"
    )
    assert judge(health({"name": MODEL, "state": "loading"}, healthy=False), MODEL) == Busy("loading")


def test_a_model_not_begun_is_waited_for() -> None:
    assert judge(health({"name": MODEL, "state": "available"}), MODEL) == Busy("waiting for its models")
    assert judge(health(), MODEL) == Busy("waiting for its models")


def test_of_several_models_the_one_at_work_is_named() -> None:
    body = health({"name": "a", "state": "loaded"}, {"name": "b", "state": "loading", "activity": "downloading 10/90"})
    assert judge(body, "a", "c", "b") == Busy("downloading 10/90 (b)")


def test_a_model_that_failed_is_broken_with_its_reason_though_its_worker_takes_no_work() -> None:
    body = health({"name": MODEL, "state": "failed", "error": "model.safetensors is missing"}, healthy=False)
    assert judge(body, MODEL) == Broken(f"{MODEL} cannot be loaded: model.safetensors is missing")


def test_a_failed_model_that_nobody_waits_for_is_no_hindrance() -> None:
    body = health({"name": MODEL, "state": "loaded"}, {"name": "other", "state": "failed", "error": "x"})
    assert judge(body, MODEL) == Ready()


@pytest.mark.parametrize(
    "body", [None, b"", b"[]", b"not json", b'{"workers": 3}', b'{"workers": [3, {"models": {}}]}']
)
def test_a_reply_that_is_not_understood_shows_no_worker(body: bytes | None) -> None:
    assert judge(body, MODEL) is None
    assert not all_loaded(body, [MODEL])


def test_all_wanted_models_must_be_loaded_for_the_gateway() -> None:
    body = json.dumps({"models": [{"name": "a", "loaded": True}, {"name": "b", "loaded": False}]}).encode()
    assert all_loaded(body, ["a"])
    assert not all_loaded(body, ["a", "b"])
    assert all_loaded(body, [])
