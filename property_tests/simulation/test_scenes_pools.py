"""A scene of pools is there for a bug: alone, as one script, it catches that bug, and breaks no rule without it."""

import logging
from collections.abc import Iterator

import pytest

from property_tests.simulation.mutants import MUTANTS
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.cluster.topology import Topology
from sie.testing.simulation import scenes_pools
from sie.testing.simulation.run import run_script
from sie.testing.simulation.scenes_pools import Scene
from sie.testing.simulation.script import Script

SEEDS = (1, 2)
SCENES: tuple[tuple[str, Scene], ...] = (
    ("kept by listing", scenes_pools.goes_unheard("acme", 0, forgets=True)),
    ("any version", scenes_pools.renewed_elsewhere("b_", 0)),
    ("unheard", scenes_pools.renewed_elsewhere("b_", 0)),
    ("revives", scenes_pools.deleted_elsewhere("acme", 0)),
    ("no skew", scenes_pools.ends_by_another_clock("c-", 0, 4.0)),
    ("pool over", scenes_pools.changed_at_once("acme", 0, 3, 2.0)),
    ("deleted anyway", scenes_pools.known_without_a_server("acme", 0, 12.0, 600)),
    ("server away", scenes_pools.known_without_a_server("acme", 0, 12.0, 600)),
    ("first come", scenes_pools.joined_late("acme", 0, 2)),
    ("time falls", scenes_pools.renewed_by_a_clock_behind("acme", 0, 4.0)),
    ("nonsense", scenes_pools.spoiled("acme", 0, "no JSON")),
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


def broken(folders: CatalogueFolders, scene: Scene) -> list[str]:
    """Which rules, by any of the seeds."""
    topology = Topology(gateways=2, workers=2, kubernetes=True)
    scripts = [Script(seed, topology, scene) for seed in SEEDS]
    return [violation for script in scripts for violation in run_script(script, folders).violations]


@pytest.mark.parametrize(("name", "scene"), SCENES, ids=[name for name, _ in SCENES])
def test_a_scene_catches_its_bug_and_nothing_else(folders: CatalogueFolders, name: str, scene: Scene) -> None:
    assert broken(folders, scene) == []
    with MUTANTS[name].swapped():
        assert broken(folders, scene) != []


def test_steps_of_pools_do_nothing_in_a_cluster_without_kubernetes(folders: CatalogueFolders) -> None:
    scene = scenes_pools.known_without_a_server("acme", 0, 12.0, 600)
    report = run_script(Script(1, Topology(), scene), folders)
    assert report.violations == ()
    assert not [name for name in report.counts if name.startswith("pool")]
