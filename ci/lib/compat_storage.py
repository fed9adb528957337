"""Runs the config store's contract on real object stores: `ci/compat storage`, with --quick and --require.

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

import attrs
import pytest

from ci.lib.compat_storage_parts import NotAvailable, Place, open_azure, open_s3
from sie.config.core.write import Change
from sie.config.store import ConfigStore, EpochFenced
from sie.domain.ids import ModelId
from sie.storage.backend import Backend
from sie.storage.local import LocalBackend
from sie.storage.objects import open_objects
from sie.testing.storage_contract import CHECKS

COMMITS = 40
QUICK_COMMITS = 5
MODEL = ModelId("org/model")

Open = Callable[[str], Backend]
"""A backend over the empty place of that name."""


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


def fared(opening: Callable[[], AbstractContextManager[Open]], commits: int) -> Told | str:
    """Why it was not run, if it was not."""
    began = time.monotonic()
    try:
        with opening() as open_backend:
            failed = [check.__name__ for check in CHECKS if not holds(check, open_backend(check.__name__))]
            commit_ms = 0.0
            try:
                commit_ms = round(committing(open_backend("store"), commits) * 1e3, 2)
            except Exception as error:  # told, as a check that fails is
                print(f"the store failed: {error!r}", file=sys.stderr)
                failed.append("store")
    except NotAvailable as error:
        return f"not run: {error}"
    except TimeoutError as error:
        return Told(0, [f"start: {error}"], 0.0, round(time.monotonic() - began, 1))
    return Told(len(CHECKS) + 1, failed, commit_ms, round(time.monotonic() - began, 1))


def holds(check: Callable[[Backend], None], backend: Backend) -> bool:
    try:
        check(backend)
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
def on_local_disk() -> Iterator[Open]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda name: LocalBackend(Path(folder) / name)


@contextmanager
def on_s3() -> Iterator[Open]:
    with open_s3() as place, variables(place):
        yield lambda name: open_objects(f"{place.url}/deep/{name}", allow_http=True)


@contextmanager
def on_azure() -> Iterator[Open]:
    with open_azure() as place, variables(place):
        yield lambda name: open_objects(f"{place.url}/deep/{name}", allow_http=True)


@contextmanager
def variables(place: Place) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(place.variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


KINDS: Mapping[str, Callable[[], AbstractContextManager[Open]]] = {
    "local": on_local_disk,
    "s3": on_s3,
    "azure": on_azure,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
