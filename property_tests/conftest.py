"""What every property test gets: a ceiling, and the `fast` profile of Hypothesis unless another is asked for."""

import pytest

from ci.lib import ceiling, profiles

profiles.register()


def pytest_configure(config: pytest.Config) -> None:
    ceiling.install(config)
