"""What a backend on a CPU has: the host's memory, or less where its container has a bound."""

import os
from pathlib import Path

import pytest

from sie.backend.host_memory import give_back_memory, host_memory_bytes, memory_bytes

HOST = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("said", "expected"), [("4096\n", 4096), ("max\n", HOST), (f"{HOST * 2}", HOST), ("what\n", HOST)]
)
def test_a_bound_counts_where_it_is_below_what_the_host_has(tmp_path: Path, said: str, expected: int) -> None:
    (tmp_path / "memory.max").write_text(said, encoding="ascii")
    assert host_memory_bytes([tmp_path / "memory.max", tmp_path / "missing"]) == expected


def test_what_a_gpu_has_is_not_known_before_a_model_is_loaded() -> None:
    assert memory_bytes("cuda:0") == 0
    assert 0 < memory_bytes("cpu") <= HOST


def test_memory_is_given_back_wherever_that_can_be_asked_for() -> None:
    kept = bytearray(1 << 20)
    give_back_memory()
    assert len(kept) == 1 << 20
