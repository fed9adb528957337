"""The config service's read endpoints through the real `run`, over folders on disk (§14, wire-facts 3.2)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx2
import pytest
import trio
import yaml

from sie.bus.nats import open_bus
from sie.config.app import World, loader_of, run
from sie.config.settings import ConfigSettings
from sie.storage.opening import open_backend
from tests.in_place import ServerInPlace, machine_in_place

BUNDLE = "{name: alpha, priority: 10, adapters: [acme.enc]}"
MODEL = "# by hand\nsie_id: acme/m\nprofiles: {default: {adapter_path: 'acme.enc:C'}, fast: {extends: default}}\n"


@asynccontextmanager
async def open_config(folder: Path, **settings: object) -> AsyncIterator[httpx2.AsyncClient]:
    server, stop = ServerInPlace(), trio.Event()
    (folder / "models").mkdir(exist_ok=True)
    machine = machine_in_place(stop, unix_s=lambda: 0.0)
    used = ConfigSettings(bundles_dir=str(folder), **settings)  # type: ignore[arg-type]  # each test names its own
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(run, used, World(machine, server.serve, open_bus, open_backend, "test")))
        async with server.client() as client:
            yield client
        stop.set()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "alpha.yaml").write_text(BUNDLE)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yaml").write_text(MODEL)
    return tmp_path


async def test_probes_answer_json(folder: Path) -> None:
    async with open_config(folder) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).json() == {"status": "ready"}


async def test_bundles_are_listed_and_documented(folder: Path) -> None:
    async with open_config(folder) as client:
        listed = (await client.get("/v1/configs/bundles")).json()["bundles"]
        document = await client.get("/v1/configs/bundles/alpha")
    assert listed == [
        {"bundle_id": "alpha", "engine": "pytorch", "priority": 10, "adapter_count": 1, "source": "filesystem"}
    ]
    assert document.headers["content-type"] == "application/x-yaml"
    assert list(yaml.safe_load(document.text)) == ["adapters", "engine", "name", "priority", "source"]


async def test_models_are_listed_by_serving_id_and_documented_as_written(folder: Path) -> None:
    async with open_config(folder) as client:
        listed = (await client.get("/v1/configs/models")).json()["models"]
        written = await client.get("/v1/configs/models/acme/m")
        variant = await client.get("/v1/configs/models/acme/m:fast")
    assert listed == [
        {"model_id": "acme/m", "profiles": ["default", "fast"], "source": "filesystem"},
        {"model_id": "acme/m:fast", "profiles": ["fast"], "source": "filesystem"},
    ]
    assert written.text == MODEL
    assert yaml.safe_load(variant.text) == {"bundles": ["alpha"], "sie_id": "acme/m:fast", "source": "filesystem"}


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/configs/bundles/beta", 404, "bundle_not_found"),
        ("/v1/configs/models/acme/other", 404, "model_not_found"),
        ("/v1/configs/models/acme/m:slow", 404, "model_not_found"),
        ("/v1/configs/models/acme/m:", 404, "model_not_found"),
        ("/v1/configs/models/a__b", 400, "invalid_model_id"),
        ("/v1/configs/models/acme/status", 404, "model_not_found"),
    ],
)
async def test_what_is_not_there_is_told_in_the_config_envelope(
    folder: Path, path: str, status: int, code: str
) -> None:
    async with open_config(folder) as client:
        response = await client.get(path)
    assert response.status_code == status
    assert response.json()["detail"]["error"] == code


async def test_a_model_spelt_in_another_case_has_a_document_in_that_spelling(folder: Path) -> None:
    async with open_config(folder) as client:
        other = await client.get("/v1/configs/models/ACME/M")
        variant = await client.get("/v1/configs/models/acme/m:FAST")
    assert yaml.safe_load(other.text) == {"bundles": ["alpha"], "sie_id": "ACME/M", "source": "filesystem"}
    assert yaml.safe_load(variant.text)["sie_id"] == "acme/m:FAST"


async def test_epoch_and_export_agree_with_each_other(folder: Path) -> None:
    async with open_config(folder) as client:
        epoch = (await client.get("/v1/configs/epoch")).json()
        export = (await client.get("/v1/configs/export")).json()
    assert epoch["epoch"] == export["epoch"] == 0
    assert len(epoch["bundles_hash"]) == len(epoch["bundle_config_hashes_hash"]) == 64
    assert export["snapshot_version"] == 1
    assert export["generated_at"] == "1970-01-01T00:00:00+00:00"
    assert export["bundle_adapters"] == {"alpha": ["acme.enc"]}
    (row,) = export["models"]
    assert (row["model_id"], row["raw_yaml"], row["source"]) == ("acme/m", MODEL, "filesystem")
    assert row["affected_bundles"] == ["alpha"]
    assert export["bundle_pool_config_hashes"] == {"alpha": {"default": export["bundle_config_hashes"]["alpha"]}}


async def test_a_broken_document_takes_nothing_else_with_it(folder: Path) -> None:
    (folder / "models" / "broken.yaml").write_text("sie_id: [")
    (folder / "broken.yaml").write_bytes(b"\xff\xfe")
    async with open_config(folder) as client:
        listed = (await client.get("/v1/configs/models")).json()["models"]
    assert [row["model_id"] for row in listed] == ["acme/m", "acme/m:fast"]


async def test_the_store_is_restored_only_when_asked(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "models").mkdir(parents=True)
    (store / "epoch").write_text("7")
    (store / "models" / "acme__new.yaml").write_text(MODEL.replace("acme/m", "acme/new"))
    async with open_config(folder, store_dir=str(store)) as client:
        assert (await client.get("/v1/configs/epoch")).json()["epoch"] == 7
        assert (await client.get("/v1/configs/models/acme/new")).status_code == 404
    async with open_config(folder, store_dir=str(store), restore=True) as client:
        export = (await client.get("/v1/configs/export")).json()
    assert {row["model_id"]: row["source"] for row in export["models"]} == {"acme/m": "filesystem", "acme/new": "api"}


async def test_a_garbage_epoch_is_zero_with_the_hashes_of_what_is_served(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "epoch").write_text("")
    async with open_config(folder, store_dir=str(store)) as client:
        told = (await client.get("/v1/configs/epoch")).json()
    assert told["epoch"] == 0
    assert len(told["bundles_hash"]) == len(told["bundle_config_hashes_hash"]) == 64


async def test_unknown_paths_and_methods_have_plain_details(folder: Path) -> None:
    async with open_config(folder) as client:
        path = await client.get("/nowhere")
        method = await client.post("/healthz")
    assert (path.status_code, path.json()) == (404, {"detail": "Not Found"})
    assert (method.status_code, method.json()) == (405, {"detail": "Method Not Allowed"})


def test_the_installed_catalogue_is_served_by_default() -> None:
    loaded = loader_of(ConfigSettings(), None).load()
    assert loaded.catalog.problems == ()
    assert "sentence-transformers/all-MiniLM-L6-v2" in loaded.catalog.models
    json.dumps(loaded.catalog.models[next(iter(loaded.catalog.models))].config)


@pytest.mark.parametrize(
    ("asked", "profiles"),
    [("acme/m", ["default", "fast"]), ("ACME/M", []), ("acme/m:fast", ["default"]), ("ACME/m:FAST", ["default"])],
)
async def test_a_spec_resolves_with_its_spelling_echoed(folder: Path, asked: str, profiles: list[str]) -> None:
    async with open_config(folder) as client:
        found = (await client.post("/v1/configs/resolve", json={"model": f"Alpha:/{asked}"})).json()
    assert found == {
        "model": asked,
        "resolved_bundle": "alpha",
        "compatible_bundles": ["alpha"],
        "profiles": profiles,
    }
