"""The config service's writes through the real `run` (§3, wire-facts 3.3 and 3.4)."""

from pathlib import Path

import pytest
import trio
import yaml
from trio.testing import MockClock

from tests.config.stage import Stage, open_stage

NEW = "sie_id: acme/new\nhf_id: acme/hub\nprofiles: {default: {adapter_path: 'acme.enc:C', max_batch_tokens: 16}}\n"
BOTH = "sie_id: acme/both\nprofiles: {default: {adapter_path: 'acme.both:C'}}\n"


async def test_a_write_is_kept_counted_told_and_served(autojump_clock: MockClock, folder: Path, tmp_path: Path) -> None:
    async with open_stage(folder, broker=True, store_dir=str(tmp_path / "store")) as stage:
        reply = await stage.post(BOTH)
        assert reply.status_code == 201
        assert reply.json() == {
            "model_id": "acme/both",
            "created_profiles": ["default"],
            "existing_profiles_skipped": [],
            "warnings": [],
            "routable_bundles_by_profile": {"default": ["alpha", "beta"]},
            "router_id": "sie-config-0",
        }
        assert await stage.epoch() == 1
        assert "acme/both" in await stage.models()
        subjects = [message.subject for message in stage.heard]
        assert subjects == [
            "sie.config.models.alpha",
            "sie.config.models._all",
            "sie.config.models.beta",
            "sie.config.models._all",
        ]
        assert stage.heard[0].data == stage.heard[1].data
        export = (await stage.client.get("/v1/configs/export")).json()
        delta = stage.deltas[0]
        assert (delta["epoch"], delta["model_id"], delta["profiles_added"]) == (1, "acme/both", ["default"])
        assert delta["bundle_config_hash"] == export["bundle_config_hashes"]["alpha"]
        assert yaml.safe_load(str(delta["model_config"])) == yaml.safe_load(BOTH)
        assert delta["affected_bundles"] == ["alpha", "beta"]
        assert set(dict(delta["bundle_adapters"])) == {"alpha", "beta"}  # type: ignore[call-overload]  # parsed JSON
    assert (tmp_path / "store" / "epoch").read_text() == "1"
    assert yaml.safe_load((tmp_path / "store" / "models" / "acme__both.yaml").read_text()) == yaml.safe_load(BOTH)


async def test_the_same_body_again_touches_nothing(autojump_clock: MockClock, folder: Path, tmp_path: Path) -> None:
    async with open_stage(folder, broker=True, store_dir=str(tmp_path / "store")) as stage:
        await stage.post(NEW)
        told = len(stage.heard)
        files = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in (tmp_path / "store").rglob("*") if p.is_file()}
        again = await stage.post(NEW)
        assert again.status_code == 200
        assert again.json()["existing_profiles_skipped"] == ["default"]
        assert again.json()["routable_bundles_by_profile"] == {}
        assert await stage.epoch() == 1
        assert len(stage.heard) == told
    assert files == {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in (tmp_path / "store").rglob("*") if p.is_file()}


async def test_an_append_keeps_what_stands_and_tells_the_whole_document(
    autojump_clock: MockClock, folder: Path, tmp_path: Path
) -> None:
    async with open_stage(folder, broker=True, store_dir=str(tmp_path / "store")) as stage:
        await stage.post(NEW)
        reply = await stage.post(
            "sie_id: acme/new\nmax_sequence_length: 7\nprofiles: {fast: {extends: default, max_batch_tokens: 4}}"
        )
        assert reply.status_code == 201
        assert reply.json()["created_profiles"] == ["fast"]
        text = (await stage.client.get("/v1/configs/models/acme/new")).text
        assert text == stage.deltas[-1]["model_config"]
        merged = yaml.safe_load(text)
        assert list(merged) == ["sie_id", "hf_id", "profiles", "max_sequence_length"]
        assert list(merged["profiles"]) == ["default", "fast"]
        assert await stage.models() == ["acme/m", "acme/m:fast", "acme/new", "acme/new:fast"]


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ("sie_id: [", 400, "parse_error", ""),
        ("- a", 400, "parse_error", "mapping"),
        ("sie_id: acme/x\nsie_id: acme/y\nprofiles: {}", 400, "parse_error", "line"),
        ("sie_id: acme/../x\nprofiles: {default: {adapter_path: 'acme.enc:C'}}", 400, "invalid_model_id", ".."),
        ("sie_id: acme/status\nprofiles: {default: {adapter_path: 'acme.enc:C'}}", 400, "invalid_model_id", "status"),
        ("profiles: {default: {adapter_path: 'acme.enc:C'}}", 422, "validation_error", "sie_id"),
        ("sie_id: acme/x", 422, "validation_error", "profiles"),
        ("sie_id: acme/x\nprofiles: {default: {}}", 422, "validation_error", "missing adapter_path"),
        ("sie_id: acme/x\nprofiles: {default: {adapter_path: 'no.such:C'}}", 422, "validation_error", "no.such"),
        ("sie_id: acme/x\nprofiles: {a: {extends: b}}", 422, "validation_error", "does not resolve"),
        ("sie_id: acme/x\nprofiles: {'../p': {adapter_path: 'acme.enc:C'}}", 422, "validation_error", "../p"),
        (
            "sie_id: acme/x\nnoise: 1\nprofiles: {default: {adapter_path: 'acme.enc:C'}}",
            422,
            "validation_error",
            "noise",
        ),
        ("sie_id: acme/m\nprofiles: {fast: {extends: default, max_batch_tokens: 4}}", 409, "content_conflict", "fast"),
        ("sie_id: acme/m\nhf_id: a/b\nprofiles: {default: {adapter_path: 'acme.enc:D'}}", 409, "content_conflict", ""),
        (
            "sie_id: acme/m\nprofiles: {default: {extends: fast}, new: {extends: default}}",
            409,
            "content_conflict",
            "default",
        ),
        ("sie_id: acme/m\npool: other\nprofiles: {new: {extends: default}}", 422, "validation_error", "append-only"),
    ],
)
async def test_what_is_refused_changes_nothing(
    autojump_clock: MockClock, folder: Path, tmp_path: Path, body: str, status: int, code: str, words: str
) -> None:
    async with open_stage(folder, broker=True, store_dir=str(tmp_path / "store")) as stage:
        before = (await stage.client.get("/v1/configs/export")).content
        reply = await stage.post(body)
        assert (reply.status_code, reply.json()["detail"]["error"]) == (status, code)
        assert words in reply.text
        assert (await stage.client.get("/v1/configs/export")).content == before
        assert stage.heard == []
    assert list((tmp_path / "store").rglob("*.yaml")) == []


async def test_an_unknown_key_is_told_with_its_place(autojump_clock: MockClock, folder: Path) -> None:
    async with open_stage(folder) as stage:
        reply = await stage.post("sie_id: acme/x\nprofiles: {default: {adapter_path: 'acme.enc:C', colour: red}}")
    (detail,) = reply.json()["detail"]["details"]
    assert detail["loc"] == ["profiles", "default", "colour"]


async def test_a_body_over_the_limit_is_413(autojump_clock: MockClock, folder: Path) -> None:
    async with open_stage(folder) as stage:
        reply = await stage.post("#" * (1024 * 1024 + 1))
    assert (reply.status_code, reply.json()["detail"]["error"]) == (413, "payload_too_large")


async def test_a_write_without_a_broker_that_should_be_there_is_refused_before_its_body_is_read(
    autojump_clock: MockClock, folder: Path
) -> None:
    async with open_stage(folder, broker=True) as stage:
        assert stage.broker is not None
        stage.broker.stop()
        await trio.sleep(1)
        reply = await stage.post("#" * (1024 * 1024 + 1))
        assert (reply.status_code, reply.json()["detail"]["error"]) == (503, "nats_unavailable")


async def test_put_replaces_and_the_same_again_does_not(
    autojump_clock: MockClock, folder: Path, tmp_path: Path
) -> None:
    async with open_stage(folder, broker=True, store_dir=str(tmp_path / "store")) as stage:
        reply = await stage.put("acme/m", "profiles: {default: {adapter_path: 'acme.rank:C'}}")
        assert reply.status_code == 200
        assert reply.json() == {
            "model_id": "acme/m",
            "replaced": True,
            "unchanged": False,
            "affected_bundles": ["alpha", "beta"],
            "warnings": [],
            "router_id": "sie-config-0",
        }
        assert await stage.models() == ["acme/m"]
        told = len(stage.heard)
        again = await stage.put("acme/m", "profiles: {default: {adapter_path: 'acme.rank:C'}}\nsie_id: acme/m")
        assert (again.json()["replaced"], again.json()["unchanged"]) == (False, True)
        assert (await stage.epoch(), len(stage.heard)) == (1, told)


@pytest.mark.parametrize(
    ("model", "body", "status", "code"),
    [
        ("acme/m", "sie_id: acme/other\nprofiles: {default: {adapter_path: 'acme.enc:C'}}", 400, "model_id_mismatch"),
        ("acme/m", "profiles: {default: {extends: nowhere}}", 422, "validation_error"),
        ("acme/m", "sie_id: ''\nprofiles: {default: {adapter_path: 'acme.enc:C'}}", 400, "invalid_model_id"),
        ("acme/status", "profiles: {default: {adapter_path: 'acme.enc:C'}}", 400, "invalid_model_id"),
    ],
)
async def test_put_refuses(
    autojump_clock: MockClock, folder: Path, model: str, body: str, status: int, code: str
) -> None:
    async with open_stage(folder) as stage:
        reply = await stage.put(model, body)
    assert (reply.status_code, reply.json()["detail"]["error"]) == (status, code)


async def test_delete_takes_away_and_shows_the_seed_again(
    autojump_clock: MockClock, folder: Path, tmp_path: Path
) -> None:
    async with open_stage(folder, broker=True, store_dir=str(tmp_path / "store")) as stage:
        await stage.put("acme/m", "profiles: {default: {adapter_path: 'acme.rank:C'}}")
        await stage.post(NEW)
        told = len(stage.deltas)
        seeded = (await stage.delete("acme/m")).json()
        gone = (await stage.delete("acme/new")).json()
        again = (await stage.delete("acme/new")).json()
        assert (seeded["deleted"], seeded["fallback"], seeded["epoch"]) == (True, "filesystem", 3)
        assert (gone["deleted"], gone["fallback"], gone["epoch"]) == (True, None, 4)
        assert (again["deleted"], again["unchanged"], again["epoch"]) == (False, True, 4)
        assert await stage.models() == ["acme/m", "acme/m:fast"]
        removals = stage.deltas[told:]
        assert [(delta["epoch"], delta["model_config"]) for delta in removals] == [(3, ""), (3, ""), (4, "")]
        assert [delta["bundle_id"] for delta in removals] == ["alpha", "beta", "alpha"]
    async with open_stage(folder, store_dir=str(tmp_path / "store"), restore=True) as stage:
        assert await stage.models() == ["acme/m", "acme/m:fast"]
        assert await stage.epoch() == 4


async def test_delete_needs_a_store(autojump_clock: MockClock, folder: Path) -> None:
    async with open_stage(folder) as stage:
        await stage.post(NEW, key="k")
        for key in (None, "k"):
            reply = await stage.delete("acme/m", key=key)
            assert (reply.status_code, reply.json()["detail"]["error"]) == (409, "config_store_required")


async def test_what_was_written_is_there_after_a_restart(
    autojump_clock: MockClock, folder: Path, tmp_path: Path
) -> None:
    async with open_stage(folder, store_dir=str(tmp_path / "store"), restore=True) as stage:
        await stage.post(NEW)
        before = await _told(stage)
    async with open_stage(folder, store_dir=str(tmp_path / "store"), restore=True) as stage:
        assert await _told(stage) == before


async def _told(stage: Stage) -> tuple[object, object]:
    return (await stage.client.get("/v1/configs/epoch")).json(), (await stage.client.get("/v1/configs/export")).json()


async def test_one_key_is_one_write(autojump_clock: MockClock, folder: Path, tmp_path: Path) -> None:
    async with open_stage(folder, store_dir=str(tmp_path / "store")) as stage:
        first = await stage.post(NEW, key="k")
        await stage.delete("acme/new")
        again = await stage.post(NEW, key="k")
        other = await stage.post(BOTH, key="k")
        assert (again.status_code, again.content) == (201, first.content)
        assert (other.status_code, other.json()["detail"]["error"]) == (422, "idempotency_mismatch")
        assert await stage.models() == ["acme/m", "acme/m:fast"]


async def test_a_failure_is_not_kept_for_its_key(autojump_clock: MockClock, folder: Path) -> None:
    async with open_stage(folder) as stage:
        assert (await stage.post("sie_id: acme/m\nprofiles: {fast: {}}", key="k")).status_code == 422
        assert (await stage.post("sie_id: acme/m\nprofiles: {fast: {}}", key="k")).status_code == 422
        assert (await stage.post(NEW, key="k")).status_code == 201


async def test_writers_at_once_each_get_an_epoch_of_their_own(
    autojump_clock: MockClock, folder: Path, tmp_path: Path
) -> None:
    statuses: list[int] = []

    async def write(stage: Stage, number: int) -> None:
        reply = await stage.post(NEW.replace("acme/new", f"acme/n{number}"))
        statuses.append(reply.status_code)

    async with open_stage(folder, broker=True, store_dir=str(tmp_path / "store")) as stage:
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(write, stage, number)
        assert statuses == [201] * 20
        assert await stage.epoch() == 20
        assert [delta["epoch"] for delta in stage.deltas] == list(range(1, 21))


async def test_an_empty_pool_is_no_pool(folder: Path, tmp_path: Path) -> None:
    async with open_stage(folder, store_dir=str(tmp_path / "store")) as stage:
        assert (await stage.post(NEW + "pool: ' '\n")).status_code == 201
        assert "pool" not in yaml.safe_load((await stage.client.get("/v1/configs/models/acme/new")).text)
        for pool in ("null", "''", "default"):
            assert (await stage.post(NEW + f"pool: {pool}\n")).status_code == 200
        assert (await stage.put("acme/new", NEW + "pool: null\n")).json()["unchanged"]
        assert await stage.epoch() == 1


@pytest.mark.parametrize(
    ("profiles", "words"),
    [
        ("{fast: {}, 'x y': {}}", "Profile 'fast' missing adapter_path"),
        ("{'x y': {}, fast: {}}", "Profile name 'x y' must match"),
    ],
)
async def test_of_several_wrong_profiles_the_first_is_told(folder: Path, profiles: str, words: str) -> None:
    async with open_stage(folder) as stage:
        reply = await stage.post(f"sie_id: acme/new\nprofiles: {profiles}\n")
    assert reply.status_code == 422
    assert reply.json()["detail"]["details"][0]["message"].startswith(words)


async def test_an_id_that_differs_in_case_alone_is_refused(
    folder: Path, tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_stage(folder, store_dir=str(tmp_path / "store")) as stage:
        await stage.post(NEW)
        for reply in (
            await stage.post(NEW.replace("acme/new", "Acme/New")),
            await stage.put("ACME/new", "profiles: {default: {adapter_path: 'acme.enc:C'}}"),
        ):
            assert (reply.status_code, reply.json()["detail"]["conflicting_fields"]) == (409, ["sie_id"])
        assert await stage.models() == ["acme/m", "acme/m:fast", "acme/new"]
