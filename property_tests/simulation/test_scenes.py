"""A scene is there for a bug: alone, as one script, it catches that bug, and breaks no rule without it."""

import logging
from collections.abc import Iterator

import pytest

from property_tests.simulation.mutants import MUTANTS
from sie.testing.cluster.catalogue import SIDE, SMALL, CatalogueFolders
from sie.testing.cluster.topology import Topology
from sie.testing.faults_config import ConfigDiesInCall, DiskAnswerLost, DiskLate
from sie.testing.simulation import scenes
from sie.testing.simulation.run import run_script
from sie.testing.simulation.scenes import Scene
from sie.testing.simulation.script import Script

SCENES: tuple[tuple[str, Scene], ...] = (
    ("guesses", scenes.head_is_unclear(SIDE, DiskAnswerLost(0, 0, "answer lost"), "post")),
    ("guesses", scenes.power_fails(SIDE, 0.5)),
    ("no seal", scenes.head_is_unclear(SIDE, DiskLate(0, 0, 8.0), "post")),
    ("bumps first", scenes.head_is_unclear(SIDE, ConfigDiesInCall(0, 4, "dies before"), "post")),
    ("no redo", scenes.head_is_unclear(SIDE, ConfigDiesInCall(0, 6, "dies before"), "post")),
    ("no fence", scenes.rivals_write(SIDE, 2.0)),
    ("key forgotten", scenes.key_again(SIDE, 1, 1)),
    ("by halves", scenes.export_within_a_write(SIDE, "post")),
    ("old standing", scenes.delta_within_a_catch_up(0, 0.5)),
    ("own epoch", scenes.old_delta_again(SIDE, 0)),
    ("refused epoch", scenes.refused_delta(SIDE, 0)),
    ("forces first", scenes.step_back_fails(SIDE, 0, 1)),
    ("never stale", scenes.nobody_is_heard(0, 12)),
    ("no bound", scenes.outbox_fills(8.0, 3)),
    ("load again", scenes.load_fails_for_good(1)),
    ("rests for good", scenes.load_fails_and_passes(2)),
    ("any hash", scenes.worker_comes_back_to_old_work(1, SMALL)),
    ("unheard cancel", scenes.clients_leave_waiting_work(2.0)),
    ("silent end", scenes.worker_stops_under_waiting_work(0.5)),
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> CatalogueFolders:
    return CatalogueFolders.write(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Every simulated fault is logged as a real one would be."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("name", "scene"), SCENES)
def test_a_scene_alone_catches_its_bug(folders: CatalogueFolders, name: str, scene: Scene) -> None:
    script = Script(1, Topology(), scene)
    assert run_script(script, folders).violations == ()
    with MUTANTS[name].swapped():
        assert run_script(script, folders).violations != ()
