"""A scene of dispatch is there for a bug: alone, as one script, it catches that bug, and breaks no rule without it."""

import logging
from collections.abc import Iterator

import pytest

from property_tests.simulation.mutants import MUTANTS
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.cluster.topology import Topology
from sie.testing.faults_dispatch import PayloadsFail, PayloadsGone
from sie.testing.simulation import scenes_dispatch as scenes
from sie.testing.simulation.run import run_script
from sie.testing.simulation.scenes import clients_leave_waiting_work
from sie.testing.simulation.scenes_dispatch import Scene
from sie.testing.simulation.script import Script

ONE = Topology()
POOLS = Topology(2, 2, kubernetes=True)
SCENES: tuple[tuple[str, Topology, Scene], ...] = (
    ("reserved", ONE, scenes.results_do_not_fit(0, 0)),
    ("reserved", ONE, scenes.results_do_not_fit(0, 1)),
    ("payload left", ONE, scenes.inputs_do_not_fit(0, PayloadsGone())),
    ("payload left", ONE, scenes.inputs_do_not_fit(0, PayloadsFail(0.5))),
    ("lease kept", ONE, scenes.wanted_and_met(0)),
    ("never met", ONE, scenes.wanted_and_met(0)),
    ("met early", ONE, scenes.nobody_is_heard_for_long(0)),
    ("no demand", ONE, scenes.nobody_is_heard_for_long(0)),
    ("lane held", ONE, scenes.wanted_and_met(0)),
    ("counts stale", POOLS, scenes.one_worker_is_replaced("acme", 0, 0.5)),
    ("any pool", POOLS, scenes.one_worker_is_replaced("acme", 0, 8.0)),
    ("any pool", POOLS, scenes.pool_leaves_waiting_work("acme", 0, 5.0)),
    ("no fallback", POOLS, scenes.one_worker_is_replaced("b_", 0, 8.0)),
    ("no tombstones", ONE, clients_leave_waiting_work(2.0)),
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


@pytest.mark.parametrize(("name", "topology", "scene"), SCENES)
def test_a_scene_alone_catches_its_bug(folders: CatalogueFolders, name: str, topology: Topology, scene: Scene) -> None:
    script = Script(1, topology, scene)
    assert run_script(script, folders).violations == ()
    with MUTANTS[name].swapped():
        assert run_script(script, folders).violations != ()
