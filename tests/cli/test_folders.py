"""Where `sie up` keeps things, and that only one of them does so in one place."""

from pathlib import Path

import pytest

from sie.cli.folders import Folders, FolderUnusable, holding, resolve_folders

HOME = Path("/home/u")


def test_without_a_word_state_and_cache_are_in_the_usual_places() -> None:
    folders = resolve_folders(None, None, environ={}, home=HOME)
    assert folders == Folders(HOME / ".local/state/sie", HOME / ".cache/sie")


def test_the_xdg_variables_move_both() -> None:
    environ = {"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}
    assert resolve_folders(None, None, environ=environ, home=HOME) == Folders(Path("/s/sie"), Path("/c/sie"))


def test_a_relative_xdg_variable_is_ignored_as_its_specification_asks() -> None:
    environ = {"XDG_STATE_HOME": "s", "XDG_CACHE_HOME": ""}
    assert resolve_folders(None, None, environ=environ, home=HOME).state == HOME / ".local/state/sie"


def test_what_is_given_wins_and_is_made_absolute() -> None:
    folders = resolve_folders("state", "/cache", environ={"XDG_STATE_HOME": "/s"}, home=HOME)
    assert folders == Folders(Path.cwd() / "state", Path("/cache"))


def test_a_second_owner_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    folders = Folders(tmp_path, tmp_path)
    with holding(folders):
        holder = folders.lock.read_text(encoding="utf-8").strip()
        with pytest.raises(FolderUnusable, match=rf"process {holder}\) runs on .*--state-dir"), holding(folders):
            pytest.fail("two own one folder")
    with holding(folders):
        assert folders.lock.read_text(encoding="utf-8").split() == [holder]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FolderUnusable, match=r"cannot make the folder .*file/state"):
        Folders(tmp_path / "file" / "state", tmp_path / "cache").make()
