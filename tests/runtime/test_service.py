"""How a service runs and ends: its background tasks go with its body, and a failing one takes it down."""

from typing import NoReturn

import pytest
import trio

from sie.runtime.service import running


async def test_tasks_run_beside_the_body_and_end_with_it(autojump_clock: trio.testing.MockClock) -> None:
    log: list[str] = []

    async def tick() -> NoReturn:
        try:
            while True:
                await trio.sleep(1)
                log.append("tick")
        finally:
            log.append("ended")

    async with running(tick):
        await trio.sleep(2.5)
        log.append("body done")
    assert log == ["tick", "tick", "body done", "ended"]


async def test_an_error_in_a_task_ends_the_body_and_is_raised(autojump_clock: trio.testing.MockClock) -> None:
    async def fail() -> NoReturn:
        await trio.sleep(1)
        raise LookupError("gone")

    with pytest.RaisesGroup(LookupError):
        async with running(fail, trio.sleep_forever):
            await trio.sleep_forever()
    assert trio.current_time() < 10


async def test_an_error_in_the_body_ends_the_tasks_and_is_raised() -> None:
    ended = trio.Event()

    async def wait() -> NoReturn:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    with pytest.RaisesGroup(LookupError):
        async with running(wait):
            await trio.testing.wait_all_tasks_blocked()
            raise LookupError("gone")
    assert ended.is_set()


async def test_without_tasks_the_body_runs_alone() -> None:
    async with running():
        await trio.lowlevel.checkpoint()
