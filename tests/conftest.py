"""What every test gets: a ceiling, and the `fast` profile of Hypothesis. All of tests/system is marked `system`."""

from pathlib import Path

import pytest

from ci.lib import ceiling, profiles

SYSTEM = Path(__file__).parent / "system"

profiles.register()


def pytest_configure(config: pytest.Config) -> None:
    ceiling.install(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First, so that `-m` sees the marks."""
    for item in items:
        if item.path.is_relative_to(SYSTEM):
            item.add_marker(pytest.mark.system)
