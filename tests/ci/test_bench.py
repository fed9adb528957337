"""The pure parts of `ci/bench`: what a figure says, when the program fails, and how /proc is read."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.lib.bench import BENCHES, main, report
from ci.lib.bench_figure import Figure
from ci.lib.bench_idle import kib, ticks
from ci.lib.bench_start import Pair, link_weights


def figures(*values: float) -> Iterator[Figure]:
    for value in values:
        yield Figure("b", "f", value, 2.5, "ratio", {"runs": [value]})


def test_each_figure_is_one_json_line_with_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(figures(2.5, 1)) == 0
    first, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "bench": "b",
        "figure": "f",
        "value": 2.5,
        "limit": 2.5,
        "unit": "ratio",
        "holds": True,
        "runs": [2.5],
    }


def test_a_figure_over_its_limit_fails_the_program_after_all_were_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(figures(2.6, 1)) == 1
    assert [json.loads(line)["holds"] for line in capsys.readouterr().out.splitlines()] == [False, True]


def test_an_unknown_bench_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    told = capsys.readouterr().err
    assert all(name in told for name in ("nonsense", *BENCHES))


def test_the_ratio_is_ours_over_the_bare_process() -> None:
    assert Pair(bare_s=2, up_s=5).ratio == 2.5


def test_a_cold_cache_has_the_weights_and_no_program(tmp_path: Path) -> None:
    for name in ("cache/packages/weights", "cache/xla-x86_64-1/program"):
        (tmp_path / name).mkdir(parents=True)
    link_weights(tmp_path / "cache" / "packages" / "weights", tmp_path / "cache", tmp_path / "cold")
    assert [path.name for path in (tmp_path / "cold").iterdir()] == ["packages"]
    assert (tmp_path / "cold" / "packages" / "weights").is_dir()


def test_weights_that_another_cache_keeps_need_no_link(tmp_path: Path) -> None:
    link_weights(tmp_path / "hub" / "model", tmp_path / "cache", tmp_path / "cold")
    assert list((tmp_path / "cold").iterdir()) == []


def test_processor_time_is_read_behind_a_name_that_holds_anything() -> None:
    assert ticks("7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 130 25 99 99 20 0") == 155


def test_memory_is_the_line_of_its_name() -> None:
    assert kib("VmPeak:\t 9 kB\nVmRSS:\t  1234 kB\n", "VmRSS") == 1234
