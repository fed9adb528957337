"""The real machine's parts do what their Protocols say."""

import gc
import threading
import time
import weakref

import trio

from sie.runtime.world import build_quietly, let_go, real_machine


class Knot:
    """What only the garbage collector can free."""

    def __init__(self) -> None:
        self.itself = self


async def test_work_runs_in_another_thread_and_returns() -> None:
    machine = real_machine(trio.Event())
    assert await machine.run_in_thread(threading.get_ident) != threading.get_ident()


def test_wall_time_is_the_systems() -> None:
    assert abs(real_machine(trio.Event()).unix_s() - time.time()) < 60


def test_two_tokens_of_the_real_machine_differ() -> None:
    machine = real_machine(trio.Event())
    assert len({machine.token() for _ in range(100)}) == 100


def test_garbage_is_not_kept_with_what_is_built() -> None:
    seen = weakref.ref(Knot())
    assert len(build_quietly(lambda: [Knot()])) == 1
    assert seen() is None


def test_what_is_built_stays_out_of_the_collectors_rounds_which_go_on() -> None:
    before = gc.get_freeze_count()
    built = build_quietly(lambda: [Knot() for _ in range(1000)])
    assert gc.get_freeze_count() >= before + len(built)
    assert gc.isenabled()


def test_letting_go_keeps_nothing() -> None:
    knots = [threading.Lock() for _ in range(3)]
    seen = [weakref.ref(knot) for knot in knots]
    let_go(knots)
    assert (knots, [ref() for ref in seen]) == ([], [None] * 3)
