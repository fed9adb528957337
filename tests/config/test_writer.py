"""A write stands or it does not: whatever the store does, whoever else writes, whenever its client leaves (§3)."""

from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio
from trio.testing import MockClock

from sie.config.core.catalog import Catalog, Config, Document, build_catalog
from sie.config.core.write import Decision, plan_append
from sie.config.publisher import ConfigPublisher
from sie.config.state import ConfigState, Held
from sie.config.store import ConfigStore
from sie.config.writer import Answer, Writer, Written
from sie.domain.ids import ModelId
from sie.runtime.world import T
from sie.testing.disk import DiskDouble, How
from tests.config.stage import BUNDLE, open_stage
from tests.config.test_publisher import FailingBus
from tests.config.test_writes import BOTH, NEW

CONFIG: Config = {"sie_id": "acme/new", "profiles": {"default": {"adapter_path": "acme.enc:C"}}}


class Fate:
    """How the next calls of the store go; well once there is nothing more to say."""

    def __init__(self) -> None:
        self.words: deque[How] = deque()

    def __call__(self) -> How:
        return self.words.popleft() if self.words else "well"


async def test_a_disk_that_refuses_leaves_nothing_and_the_next_write_works(
    autojump_clock: MockClock, folder: Path
) -> None:
    disk, fate = DiskDouble(), Fate()
    async with open_stage(folder, broker=True, backend=disk.mount(fate)) as stage:
        await stage.post(BOTH)
        before, told = disk.texts, len(stage.heard)
        disk.full = True
        refused = await stage.post(NEW)
        assert (refused.status_code, refused.json()["detail"]["error"]) == (503, "store_unavailable")
        assert (disk.texts, len(stage.heard), await stage.epoch()) == (before, told, 1)
        assert "acme/new" not in await stage.models()
        disk.full = False
        assert (await stage.post(NEW)).status_code == 201
        assert await stage.epoch() == 2


async def test_the_second_writer_of_a_store_is_fenced_and_sees_what_the_first_wrote(
    autojump_clock: MockClock, folder: Path
) -> None:
    disk = DiskDouble()
    async with (
        open_stage(folder, backend=disk.mount(), restore=True) as one,
        open_stage(folder, backend=disk.mount(), restore=True) as other,
    ):
        assert (await one.post(NEW)).status_code == 201
        fenced = await other.post(BOTH)
        assert (fenced.status_code, fenced.json()["detail"]["error"]) == (503, "epoch_fenced")
        assert "acme__both" not in str(disk.texts)
        assert (await other.post(BOTH)).status_code == 201
        assert await other.models() == ["acme/both", "acme/m", "acme/m:fast", "acme/new"]
        assert (await one.post(BOTH)).status_code in (200, 503)


class Thread:
    """Runs work in place, a second each, and says what it is at."""

    def __init__(self) -> None:
        self.runs = 0
        self.began = trio.Event()

    async def __call__(self, work: Callable[[], T], /) -> T:
        self.runs += 1
        self.began.set()
        self.began = trio.Event()
        with trio.CancelScope(shield=True):  # a thread goes on, whoever waits for it
            await trio.sleep(1)
        return work()


def make_writer(disk: DiskDouble, thread: Thread, publisher: ConfigPublisher | None = None) -> Writer:
    store = ConfigStore(disk.mount())
    store.load()
    state = ConfigState(Held(build_catalog([Document("alpha.yaml", BUNDLE)], [], [])))

    def reload() -> Held:
        raise AssertionError("nobody else writes")

    return Writer(state, store, publisher, thread, reload)


async def cancelled_in_run(number: int) -> tuple[Writer, DiskDouble, object]:
    """Cancel a write while it is in its `number`-th blocking call: 1 reads the store and plans, 2 persists."""
    disk, thread = DiskDouble(), Thread()
    writer, outcome = make_writer(disk, thread), "cancelled"
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            async def cancel() -> None:
                while thread.runs < number:
                    await thread.began.wait()
                scope.cancel()

            nursery.start_soon(cancel)
            decide = partial(decide_add, CONFIG)
            answer = await writer.write(ModelId("acme/new"), decide)
            outcome = "answered" if isinstance(answer, Written) else "not written"
    return writer, disk, outcome


def decide_add(incoming: Config, catalog: Catalog, stored: str | None) -> Decision:
    return plan_append(catalog, stored, incoming)


async def test_cancelled_before_it_persists_it_has_done_nothing(autojump_clock: MockClock) -> None:
    writer, disk, outcome = await cancelled_in_run(1)
    assert outcome == "cancelled"
    assert disk.texts == {}
    assert writer.state.epoch == 0


async def test_cancelled_while_it_persists_it_is_done(autojump_clock: MockClock) -> None:
    writer, disk, outcome = await cancelled_in_run(2)
    assert outcome == "answered"
    assert disk.texts["epoch"] == "1"
    assert writer.state.epoch == 1
    assert writer.state.current is not None
    assert "acme/new" in writer.state.current.catalog.models


async def test_a_file_that_lags_behind_the_head_is_written_before_the_next_write(autojump_clock: MockClock) -> None:
    disk, thread, fate = DiskDouble(), Thread(), Fate()
    writer = make_writer(disk, thread)
    store = ConfigStore(disk.mount(fate))
    store.load()
    writer.store = store
    fate.words.extend(("well", "well"))  # the model is read, and the head swapped
    fate.words.extend(("refused", "refused", "refused"))
    answer = await writer.write(ModelId("acme/new"), partial(decide_add, CONFIG))
    assert isinstance(answer, Written)
    assert "epoch" not in disk.texts
    fate.words.clear()
    again = await writer.write(ModelId("acme/b"), partial(decide_add, {**CONFIG, "sie_id": "acme/b"}))
    assert isinstance(again, Written)
    assert disk.texts["epoch"] == "2"
    assert {"models/acme__new.yaml", "models/acme__b.yaml"} <= set(disk.texts)


async def test_the_news_go_out_while_the_files_follow_and_the_answer_waits_for_both(autojump_clock: MockClock) -> None:
    disk, bus, answers = DiskDouble(), FailingBus(), list[Answer]()
    writer = make_writer(disk, Thread(), ConfigPublisher(bus, "sie-config"))

    async def write() -> None:
        answers.append(await writer.write(ModelId("acme/new"), partial(decide_add, CONFIG)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await trio.sleep(2.5)  # a second to read and to plan, and one to commit
        assert {message.subject for message in bus.sent} >= {"sie.config.models.alpha", "sie.config.models._all"}
        assert writer.state.epoch == 1  # whoever asks after the news finds it
        assert (set(disk.texts), answers) == ({"head"}, [])
    assert (disk.texts["epoch"], len(answers)) == ("1", 1)


async def test_a_registry_that_is_not_there_is_said_so(autojump_clock: MockClock, folder: Path) -> None:
    async with open_stage(folder, models_dir=str(folder / "nowhere")) as stage:
        assert (await stage.client.get("/healthz")).status_code == 200
        ready = await stage.client.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"detail": "Model registry not loaded"})
        for path in ("models", "bundles", "export", "models/acme/m", "bundles/alpha"):
            reply = await stage.client.get(f"/v1/configs/{path}")
            assert (reply.status_code, reply.json()["detail"]["error"]) == (503, "registry_unavailable")
        assert (await stage.post(NEW)).json()["detail"]["error"] == "registry_unavailable"
        epoch = (await stage.client.get("/v1/configs/epoch")).json()
        assert epoch == {"epoch": 0, "bundles_hash": "", "bundle_config_hashes_hash": ""}
        (folder / "nowhere").mkdir()
        await trio.sleep(60)
        assert (await stage.client.get("/readyz")).status_code == 200


async def test_a_store_that_cannot_be_read_is_not_served_without(autojump_clock: MockClock, folder: Path) -> None:
    disk, fate = DiskDouble(), Fate()
    fate.words.extend(["refused"] * 2)
    async with open_stage(folder, backend=disk.mount(fate)) as stage:
        assert (await stage.client.get("/readyz")).status_code == 503
        await trio.sleep(60)
        assert (await stage.client.get("/readyz")).status_code == 200


async def test_tokens_open_what_they_are_for(autojump_clock: MockClock, folder: Path) -> None:
    async with open_stage(folder, admin_token="a", config_read_token="r", auth_token="i") as stage:
        seen = {
            (path, token): (await stage.client.get(path, headers=bearer(token))).status_code
            for path in ("/v1/configs/models", "/v1/configs/export", "/healthz", "/readyz")
            for token in ("a", "r", "i", "x", None)
        }
        wrote = {token: (await stage.post(NEW, token=token)).status_code for token in (None, "r", "i", "x", "a")}
    assert [seen["/v1/configs/models", t] for t in ("a", "r", "i", "x", None)] == [200, 200, 200, 403, 401]
    assert [seen["/v1/configs/export", t] for t in ("a", "r", "i", "x", None)] == [200, 200, 403, 403, 401]
    assert {seen[path, t] for path in ("/healthz", "/readyz") for t in ("a", "x", None)} == {200}
    assert wrote == {None: 401, "r": 403, "i": 403, "x": 403, "a": 201}


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}
