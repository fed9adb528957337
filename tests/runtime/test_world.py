"""The real machine's parts do what their Protocols say."""

import threading
import time

import trio

from sie.runtime.world import real_machine


async def test_work_runs_in_another_thread_and_returns() -> None:
    machine = real_machine(trio.Event())
    assert await machine.run_in_thread(threading.get_ident) != threading.get_ident()


def test_wall_time_is_the_systems() -> None:
    assert abs(real_machine(trio.Event()).unix_s() - time.time()) < 60


def test_two_tokens_of_the_real_machine_differ() -> None:
    machine = real_machine(trio.Event())
    assert len({machine.token() for _ in range(100)}) == 100
