"""One running system for all system tests: what a test kills it also waits to see healed."""

from collections.abc import Iterator

import pytest

from ci.lib.demo_model import cache_folder
from ci.lib.demo_system import running_system
from tests.system.driving import Driver


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    folder = tmp_path_factory.mktemp("system")
    flags = ["--port", "0", "--state-dir", str(folder / "state"), "--cache-dir", str(cache_folder())]
    with (folder / "up.log").open("wb") as log, running_system(flags, stderr=log) as running:
        yield Driver(running, folder / "up.log")
