"""The broker double and a real nats-server tell the same histories alike; `ci/compat broker` runs many more."""

import pytest
import trio

from sie.testing.broker.comparing import Disagreement, run_on_model
from sie.testing.broker.histories import Flavor, draw_history
from sie.testing.broker.servers import open_comparison

SHARED, SHARED_STEPS = 40, 30
OWN, OWN_STEPS = 4, 20


@pytest.mark.system
async def test_the_model_and_a_real_server_tell_the_same_histories_alike() -> None:
    found: dict[str, Disagreement] = {}

    async def compare(flavor: Flavor, number: int, steps: int) -> None:
        names = [f"test.{n}" for n in range(number)]
        async with open_comparison(flavor) as comparison:
            drawn = {f"{flavor} {name}": draw_history(name, steps, flavor) for name in names}
            found.update(await comparison.compare(drawn))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(compare, "shared", SHARED, SHARED_STEPS)
        nursery.start_soon(compare, "own", OWN, OWN_STEPS)
    assert found == {}


def test_the_same_history_comes_out_the_same_twice() -> None:
    history = draw_history("twice", 50, "own")
    assert run_on_model("h", history) == run_on_model("h", history)
