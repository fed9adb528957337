"""Runs the contracts of config and payload stores on real services: `ci/compat storage`, with --quick and --require.

`s3` is seaweedfs and `azure` is azurite, both started here on free loopback ports; `local` is this machine's disk. GCS
is not among them: nothing that can be installed answers as it does, so our side is only held to a double of ours.
One JSON line says how each fared. The exit status is 1 where a check failed, or where a --require'd one was not run.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import attrs
import pytest

from ci.lib.compat_storage_parts import NotAvailable, Place, open_azure, open_s3
from sie.config.core.write import Change
from sie.config.store import ConfigStore, EpochFenced
from sie.domain.ids import ModelId
from sie.storage.backend import Backend
from sie.storage.local import LocalBackend
from sie.storage.objects import open_objects
from sie.storage.payload_folder import FolderPayloads
from sie.storage.payload_objects import open_object_payloads
from sie.storage.payloads import PayloadStore
from sie.testing.payloads import CHECKS as PAYLOAD_CHECKS
from sie.testing.storage_contract import CHECKS

T = TypeVar("T")

COMMITS = 40
QUICK_COMMITS = 5
MODEL = ModelId("org/model")

Address = Callable[[str], str]
"""Of the empty place of that name: a folder, or a bucket's URL."""


@attrs.frozen
class Told:
    checks: int
    failed: list[str]
    commit_ms: float
    seconds: float


def main(argv: Sequence[str]) -> int:
    options = arguments_of(argv)
    commits = QUICK_COMMITS if options.quick else COMMITS
    told = {kind: fared(KINDS[kind], commits) for kind in options.kinds}
    lines = {kind: attrs.asdict(found) if isinstance(found, Told) else found for kind, found in told.items()}
    print(json.dumps({"compat": "storage", **lines}), flush=True)
    failed = [kind for kind, found in told.items() if isinstance(found, Told) and found.failed]
    missing = [kind for kind in options.require if not isinstance(told.get(kind), Told)]
    return 1 if failed or missing else 0


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/compat storage", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_COMMITS} commits instead of {COMMITS}")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--require", nargs="+", choices=KINDS, default=[], help="fail where one of these cannot run")
    return parser.parse_args(argv)


def fared(opening: Callable[[], AbstractContextManager[Address]], commits: int) -> Told | str:
    """Why it was not run, if it was not."""
    began = time.monotonic()
    try:
        with opening() as address:
            failed = [check.__name__ for check in CHECKS if not holds(check, backend_at(address(check.__name__)))]
            failed += [c.__name__ for c in PAYLOAD_CHECKS if not holds(c, payloads_at(address(c.__name__)))]
            commit_ms = 0.0
            try:
                commit_ms = round(committing(backend_at(address("store")), commits) * 1e3, 2)
            except Exception as error:  # told, as a check that fails is
                print(f"the store failed: {error!r}", file=sys.stderr)
                failed.append("store")
    except NotAvailable as error:
        return f"not run: {error}"
    except TimeoutError as error:
        return Told(0, [f"start: {error}"], 0.0, round(time.monotonic() - began, 1))
    return Told(len(CHECKS) + len(PAYLOAD_CHECKS) + 1, failed, commit_ms, round(time.monotonic() - began, 1))


def backend_at(address: str) -> Backend:
    return open_objects(address, allow_http=True) if "://" in address else LocalBackend(Path(address))


def payloads_at(address: str) -> PayloadStore:
    if "://" in address:
        return open_object_payloads("the bucket", address, allow_http=True)
    return FolderPayloads(Path(address))


def holds(check: Callable[[T], None], store: T) -> bool:
    try:
        check(store)
    except (Exception, pytest.fail.Exception) as error:  # whatever it is, it is told, and the next check runs
        print(f"{check.__name__} failed: {error!r}", file=sys.stderr)
        return False
    return True


def committing(backend: Backend, commits: int) -> float:
    """The seconds of one write, written out; then a second writer is fenced, reloads and removes the model."""
    first, second = ConfigStore(backend), ConfigStore(backend)
    first.load()
    second.load()
    began = time.monotonic()
    for number in range(1, commits + 1):
        assert first.commit(Change(MODEL, f"number: {number}\n")) == number
        first.settle()
    each = (time.monotonic() - began) / commits
    with pytest.raises(EpochFenced):
        second.commit(Change(ModelId("other"), "number: 0\n"))
    stored = second.load()
    assert stored.epoch.value == commits
    assert [document.text for document in stored.models] == [f"number: {commits}\n"]
    assert second.commit(Change(MODEL, None)) == commits + 1
    stored = first.load()  # which finds the removal only in the head
    assert (stored.epoch.value, stored.models) == (commits + 1, ())
    return each


@contextmanager
def on_local_disk() -> Iterator[Address]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda name: f"{folder}/{name}"


@contextmanager
def on_s3() -> Iterator[Address]:
    with open_s3() as place, variables(place):
        yield lambda name: f"{place.url}/deep/{name}"


@contextmanager
def on_azure() -> Iterator[Address]:
    with open_azure() as place, variables(place):
        yield lambda name: f"{place.url}/deep/{name}"


@contextmanager
def variables(place: Place) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(place.variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


KINDS: Mapping[str, Callable[[], AbstractContextManager[Address]]] = {
    "local": on_local_disk,
    "s3": on_s3,
    "azure": on_azure,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
