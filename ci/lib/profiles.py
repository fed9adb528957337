"""How long Hypothesis looks: `fast` is `ci/test`'s and finds the same in every run, `deep` is for a machine left alone.

`ci/test property -- --hypothesis-profile deep` chooses the long one.
"""

from hypothesis import HealthCheck, settings

FAST_EXAMPLES = 60
DEEP_EXAMPLES = 5_000


def register() -> None:
    """No deadlines: a loaded machine is not a defect, and the ceiling of each test is a bound already."""
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        "fast", max_examples=FAST_EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=slow
    )
    settings.register_profile(
        "deep", max_examples=DEEP_EXAMPLES, deadline=None, print_blob=True, suppress_health_check=slow
    )
    settings.load_profile("fast")
