"""Loading a model: where its adapter may come from, what is said meanwhile, and what becomes of a failure."""

import attrs
import pytest

from sie.adapters.api import Footprint, LoadFailed, NoRoom, Progress
from sie.backend.catalog import ADAPTERS, Catalog, activity, import_adapter, import_early
from sie.wire.ipc import LoadModel
from tests.backend.scripted_adapter import PATH, Scripted

LOAD = LoadModel(id=1, serving_id="acme/small", adapter_path=PATH, model_id="acme/small")
PREFIX = "tests.backend."


def test_a_loaded_model_is_found_by_its_serving_id() -> None:
    catalog, said = Catalog("/cache", PREFIX), list[str]()
    catalog.load(LOAD, said.append)
    assert isinstance(catalog.find("acme/small"), Scripted)
    assert catalog.find("acme/other") is None
    assert said == ["loading", "downloading 40%", "downloading 40%", "compiling 3/8"]


@pytest.mark.parametrize("path", ["os:system", "sie.adaptersx.a:B", "tests.backend.scripted_adapter", "", ":", "a.b:"])
def test_an_adapter_from_elsewhere_is_refused_before_it_is_imported(path: str) -> None:
    with pytest.raises(LoadFailed, match="must be `module:Class`") as failed:
        import_adapter(path, ADAPTERS)
    assert (failed.value.error_class, failed.value.permanent) == ("CONFIG", True)


@pytest.mark.parametrize(
    "path", ["sie_server.adapters.whisper.adapter:WhisperAdapter", "sie_server.adapters.colbert:No"]
)
def test_a_published_adapter_without_a_counterpart_is_named(path: str) -> None:
    with pytest.raises(LoadFailed, match=f"adapter '{path}' is not one of ours, nor a published one") as failed:
        Catalog("/cache").load(attrs.evolve(LOAD, adapter_path=path), lambda _: None)
    assert (failed.value.error_class, failed.value.permanent) == ("CONFIG", True)


@pytest.mark.parametrize("path", ["tests.backend.missing:A", "tests.backend.scripted_adapter:Missing"])
def test_an_adapter_that_is_not_there_is_named(path: str) -> None:
    with pytest.raises(LoadFailed, match=path) as failed:
        import_adapter(path, PREFIX)
    assert (failed.value.error_class, failed.value.permanent) == ("DEPENDENCY", True)


def test_an_adapters_own_refusal_passes_as_it_is() -> None:
    with pytest.raises(LoadFailed, match="no such weights") as failed:
        Catalog("/cache", PREFIX).load(attrs.evolve(LOAD, loadtime={"refuse": True}), lambda _: None)
    assert failed.value.permanent


def test_any_other_failure_of_an_adapter_is_a_failed_load_that_may_pass() -> None:
    catalog = Catalog("/cache", PREFIX)
    with pytest.raises(LoadFailed, match="RuntimeError: the disk is on fire") as failed:
        catalog.load(attrs.evolve(LOAD, loadtime={"break": True}), lambda _: None)
    assert not failed.value.permanent
    assert catalog.find("acme/small") is None


def test_a_loaded_model_says_what_it_takes_and_leaves_when_it_is_told() -> None:
    catalog = Catalog("/cache", PREFIX)
    footprint = catalog.load(attrs.evolve(LOAD, loadtime={"bytes": 1000}, room_bytes=1000), lambda _: None)
    assert footprint == Footprint(1000)
    catalog.unload("acme/small")
    catalog.unload("acme/small")
    assert catalog.find("acme/small") is None


def test_a_model_that_takes_more_than_its_room_is_not_loaded() -> None:
    catalog = Catalog("/cache", PREFIX)
    with pytest.raises(NoRoom, match="takes 1000 bytes") as refused:
        catalog.load(attrs.evolve(LOAD, loadtime={"bytes": 1000}, room_bytes=999), lambda _: None)
    assert (refused.value.model_bytes, refused.value.error_class, refused.value.permanent) == (1000, "OOM", False)
    assert catalog.find("acme/small") is None


def test_a_model_that_cannot_be_loaded_anew_does_not_go_on_as_it_was() -> None:
    catalog = Catalog("/cache", PREFIX)
    catalog.load(LOAD, lambda _: None)
    with pytest.raises(LoadFailed):
        catalog.load(attrs.evolve(LOAD, loadtime={"refuse": True}), lambda _: None)
    assert catalog.find("acme/small") is None


def test_importing_early_survives_a_module_that_is_not_there() -> None:
    import_early(("tests.backend.missing", "tests.backend.scripted_adapter"))


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress("downloading"), "downloading"),
        (Progress("downloading", 0, 10), "downloading 0%"),
        (Progress("downloading", 10, 10), "downloading 100%"),
        (Progress("loading"), "loading"),
        (Progress("compiling", 3, 8), "compiling 3/8"),
    ],
)
def test_progress_is_told_in_a_few_words(progress: Progress, words: str) -> None:
    assert activity(progress) == words
