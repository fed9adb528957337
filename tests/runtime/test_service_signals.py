"""The first signal asks a service to end in order; the second one ends the process at once, with 128 and its number."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.system

SERVICE = """
import trio
from sie.runtime.service import run_service

async def service(stop):
    print("ready", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    {after_stop}
    print("stopped", flush=True)

run_service(service)
"""


@contextmanager
def process(after_stop: str) -> Iterator[subprocess.Popen[str]]:
    program = SERVICE.format(after_stop=after_stop)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def line(of: subprocess.Popen[str]) -> str:
    assert of.stdout is not None
    return of.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_sets_stop_and_the_service_ends_in_order(number: signal.Signals) -> None:
    with process("await trio.lowlevel.checkpoint()") as service:
        assert line(service) == "ready"
        service.send_signal(number)
        assert [line(service), line(service)] == ["stopping", "stopped"]
        assert service.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_ends_the_process_at_once(number: signal.Signals) -> None:
    with process("await trio.sleep_forever()") as service:
        assert line(service) == "ready"
        service.send_signal(signal.SIGTERM)
        assert line(service) == "stopping"
        service.send_signal(number)
        assert service.wait() == 128 + number
