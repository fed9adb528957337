"""The broker double and a real nats-server tell the same histories alike; `ci/compat broker` runs many more."""

from pathlib import Path

import pytest

from sie.testing.broker.comparing import compare, run_on_model
from sie.testing.broker.histories import draw_history
from sie.testing.nats_server import open_nats_server

HISTORIES = 40
STEPS = 30


@pytest.mark.system
async def test_the_model_and_a_real_server_tell_the_same_histories_alike(tmp_path: Path) -> None:
    seeds = [f"test.{n}" for n in range(HISTORIES)]
    async with open_nats_server(store_dir=tmp_path) as server:
        assert await compare(server.url, seeds, STEPS, at_once=HISTORIES) == []


def test_the_same_history_comes_out_the_same_twice() -> None:
    history = draw_history("twice", 50)
    assert run_on_model("h", history) == run_on_model("h", history)
