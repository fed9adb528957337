"""Every process of the system is killed once while it works: what is asked is answered rightly, or refused cleanly."""

import time

import numpy as np
import pytest

from tests.system.driving import LONG_TEXT, Driver, until, vectors_of

TEXTS = [f"{n} {LONG_TEXT}" for n in range(32)]
AT_WORK_S = 0.5
"""After this the texts are with the backend, which takes several times as long for them."""


def works(system: Driver) -> bool:
    return system.encode(["does it work?"]).status_code == 200


def test_a_request_outlives_the_backend_that_worked_on_it(system: Driver) -> None:
    expected = vectors_of(system.encode(TEXTS))
    victim = system.backend()
    with system.asking(TEXTS) as asked:
        time.sleep(AT_WORK_S)
        system.kill(victim)
    np.testing.assert_allclose(vectors_of(asked.result()), expected, atol=2e-6)
    assert system.backend() != victim


def test_a_request_outlives_its_worker_or_is_refused_cleanly(system: Driver) -> None:
    expected = vectors_of(system.encode(TEXTS))
    seen = system.said("worker: ready")
    with system.asking(TEXTS) as asked:
        time.sleep(AT_WORK_S)
        system.kill(system.pid("worker"))
    reply = asked.result()
    assert reply.status_code in (200, 503, 504)
    if reply.status_code == 200:
        np.testing.assert_allclose(vectors_of(reply), expected, atol=2e-6)
    until(lambda: system.said("worker: ready") > seen)
    assert works(system)


def test_a_killed_broker_is_replaced_and_work_goes_on(system: Driver) -> None:
    """Expectation 23."""
    seen = system.said("nats: ready")
    system.kill(system.system.pids["nats"])
    until(lambda: system.said("nats: ready") > seen)
    until(lambda: works(system))


def test_the_gateway_serves_without_a_config_service(system: Driver) -> None:
    seen = system.said("config: ready")
    system.kill(system.pid("config"))
    assert works(system)
    until(lambda: system.said("config: ready") > seen)
    assert works(system)


def test_a_killed_gateway_comes_back_on_its_port(system: Driver) -> None:
    system.kill(system.pid("gateway"))
    until(lambda: works(system))


@pytest.mark.parametrize("text", ["a", LONG_TEXT])
def test_vectors_are_the_same_after_all_that(system: Driver, text: str) -> None:
    once, again = vectors_of(system.encode([text])), vectors_of(system.encode_msgpack([text]))
    np.testing.assert_array_equal(once, again)
