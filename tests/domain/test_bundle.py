"""Which adapters may a bundle list (wire-facts 3.6)? By example."""

import pytest

from sie.domain.bundle import Bundle, BundleSet, misplaced_adapters
from sie.domain.ids import BundleName

CANDLE = "sie_server_rust.adapters.candle"


@pytest.mark.parametrize(
    ("engine", "adapters", "misplaced"),
    [
        ("pytorch", ["sie_server.adapters.clip", "sie.adapters.tasks.dense"], ()),
        ("pytorch", ["sie_server.adapters.clip", CANDLE], (CANDLE,)),
        ("candle", [CANDLE, f"{CANDLE}.flash"], ()),
        ("candle", ["sie_server.adapters.clip", CANDLE], ("sie_server.adapters.clip",)),
        ("candle", [], ()),
    ],
)
def test_an_engine_runs_the_adapters_of_its_namespace(
    engine: str, adapters: list[str], misplaced: tuple[str, ...]
) -> None:
    assert misplaced_adapters(engine, adapters) == misplaced


def test_of_two_bundles_with_one_name_the_later_is_taken() -> None:
    found = BundleSet.of([Bundle(BundleName("a"), ("x",), 1), Bundle(BundleName("a"), ("y",), 2)])
    assert (list(found.by_name), found.running("x"), found.running("y")) == (["a"], (), ("a",))
