"""Folders of bundles and models (§4, §13): read at the start, looked at again, and never half-written."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from sie.gateway.sync.bootstrap import catch_up
from sie.gateway.sync.seed import LOOK_S, Folders, Seed, folders_of
from tests.gateway.sync.authority import ALPHA, ScriptedAuthority, make_syncing, text

LOOKS_S = 3 * LOOK_S


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "models").mkdir()
    (tmp_path / "alpha.yaml").write_text(ALPHA.text)
    (tmp_path / "models" / "m.yaml").write_text(text("m"))
    return Folders(tmp_path, tmp_path / "models")


async def test_changes_are_picked_up_and_broken_files_keep_what_they_said(
    folders: Folders, autojump_clock: MockClock
) -> None:
    syncing = make_syncing()
    seed = Seed(folders, syncing)
    await seed.load()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(seed.watch_forever)

        async def models() -> list[str]:
            await trio.sleep(LOOKS_S)
            return list(syncing.replica.registry.snapshot.models)

        assert await models() == ["m"]
        (folders.models / "n.yaml").write_text(text("n"))
        assert await models() == ["m", "n"]
        (folders.models / "n.yaml").write_text("{sie_id: n, prof")
        assert await models() == ["m", "n"]
        (folders.models / "m.yaml").unlink()
        assert await models() == ["n"]
        (folders.bundles / "alpha.yaml").unlink()
        await models()
        assert syncing.replica.registry.snapshot.bundles == {}
        nursery.cancel_scope.cancel()


async def test_a_file_that_is_still_being_written_is_not_read(folders: Folders, autojump_clock: MockClock) -> None:
    syncing = make_syncing()
    seed = Seed(folders, syncing)
    await seed.load()
    whole, path = text("n", more=", fast: {extends: default}"), folders.models / "n.yaml"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(seed.watch_forever)
        for end in range(10, len(whole), 10):
            path.write_text(whole[:end])
            await trio.sleep(LOOK_S)
            assert "n" not in syncing.replica.registry.snapshot.models
        path.write_text(whole)
        await trio.sleep(LOOKS_S)
        assert "n" in syncing.replica.registry.snapshot.models
        nursery.cancel_scope.cancel()


async def test_the_authority_stands_over_the_folders_once_it_was_heard(
    folders: Folders, autojump_clock: MockClock
) -> None:
    syncing, authority = make_syncing(), ScriptedAuthority(3, {"a": text("a")})
    seed = Seed(folders, syncing)
    await seed.load()
    await catch_up(syncing, authority)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(seed.watch_forever)
        (folders.models / "n.yaml").write_text(text("n"))
        await trio.sleep(LOOKS_S)
        nursery.cancel_scope.cancel()
    assert syncing.replica.registry.snapshot == authority.snapshot


def test_folders_are_there_when_one_of_them_is_set() -> None:
    assert folders_of(None, None) is None
    assert folders_of("/b", None) == Folders(Path("/b"), Path("/b/models"))
    assert folders_of("/b", "/m") == Folders(Path("/b"), Path("/m"))
