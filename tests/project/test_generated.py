"""What spec/generated holds is what the code prints now; `ci/spec` writes it anew."""

from pathlib import Path

from ci.lib.spec import FOLDER, GENERATED, outdated, stray, write

TABLES = {"a.md": lambda: "a\n", "deep/b.md": lambda: "b\n"}


def test_every_generated_file_is_fresh() -> None:
    assert outdated(FOLDER, GENERATED) == [], "run ci/spec"


def test_no_file_lies_among_the_generated_ones_that_nothing_prints() -> None:
    assert stray(FOLDER, GENERATED) == [], "run ci/spec"


def test_writing_makes_everything_fresh_and_removes_strays(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("old\n", encoding="utf-8")
    (tmp_path / "stray.md").write_text("", encoding="utf-8")
    assert outdated(tmp_path, TABLES) == ["a.md", "deep/b.md"]
    assert stray(tmp_path, TABLES) == ["stray.md"]
    write(tmp_path, TABLES)
    assert outdated(tmp_path, TABLES) == stray(tmp_path, TABLES) == []
