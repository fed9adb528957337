"""What a write tells, and what it says of news that did not get through (§3)."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import NO_HEADERS, Correlation, Handler, Message, MessageTooLarge, NotConnected
from sie.config.publisher import CONFIRM_S, ConfigPublisher, Told
from sie.testing.disk import DiskDouble, How
from sie.wire.notification import ConfigNotification
from tests.config.stage import BETA, BUNDLE, MODEL, open_stage
from tests.config.test_writes import BOTH

NOTICES = tuple(ConfigNotification(bundle_id=bundle, epoch=1, model_id="m") for bundle in ("alpha", "beta"))


@attrs.define
class Echo:
    bus: "FailingBus"
    subject: str = "_INBOX.config._ack.1"

    def forget(self) -> None:
        self.bus.on_echo = None


@attrs.define(eq=False)
class FailingBus:
    """Fails for the subjects of `fails`; with `loses` nothing comes back, with `breaks` the connection is a new one."""

    fails: Mapping[str, Exception] = attrs.field(factory=dict)
    loses: bool = False
    breaks: bool = False
    session: int = 1
    inbox: str = "_INBOX.config"
    max_payload: int = 1024
    sent: list[Message] = attrs.field(factory=list)
    on_echo: Handler | None = None

    def publish_nowait(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if subject in self.fails:
            raise self.fails[subject]
        self.sent.append(Message(subject, data, reply, headers))
        if subject.startswith("_INBOX."):
            self.session += self.breaks
            if self.on_echo is not None and not self.loses:
                self.on_echo(self.sent[-1])

    def correlate(self, on_reply: Handler) -> Correlation:
        self.on_echo = on_reply
        return Echo(self)

    def on_inbox(self, handler: Handler) -> None:
        raise AssertionError(f"{handler}: the config service answers nobody")

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncIterator[None]:
        assert self.session < 0, f"{handler} on {subject} {queue}: the config service only tells"
        yield

    async def wait_session(self, *, newer_than: int = 0) -> int:
        raise AssertionError(f"nothing waits for a session after {newer_than}")


async def tell(bus: FailingBus) -> Told:
    return await ConfigPublisher(bus, "sie-config").publish(NOTICES)


async def test_all_is_told_in_pairs_and_confirmed() -> None:
    bus = FailingBus()
    assert await tell(bus) == Told((), confirmed=True)
    assert [message.subject.rpartition(".")[2] for message in bus.sent[:-1]] == ["alpha", "_all", "beta", "_all"]
    assert bus.sent[0].data == bus.sent[1].data


async def test_a_bundle_that_cannot_be_told_is_named_and_the_others_are_told() -> None:
    bus = FailingBus({"sie.config.models.alpha": MessageTooLarge("sie.config.models.alpha", 2048, 1024)})
    assert await tell(bus) == Told(("alpha",), confirmed=True)
    assert [message.subject for message in bus.sent[:-1]] == ["sie.config.models.beta", "sie.config.models._all"]


@pytest.mark.parametrize("bus", [FailingBus(loses=True), FailingBus(breaks=True)])
async def test_news_that_are_not_confirmed_are_told_as_such(bus: FailingBus, autojump_clock: MockClock) -> None:
    began = trio.current_time()
    assert await tell(bus) == Told((), confirmed=False)
    assert trio.current_time() - began <= CONFIRM_S


async def test_without_a_connection_nothing_is_told() -> None:
    gone = NotConnected("no connection")
    bus = FailingBus({f"sie.config.models.{name}": gone for name in ("alpha", "beta", "_all")}, session=0)
    assert await tell(bus) == Told(("alpha", "beta"), confirmed=False)


async def test_a_write_stands_with_a_warning_when_the_broker_goes_after_its_commit(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in (("alpha", BUNDLE), ("beta", BETA), ("models/m", MODEL)):
        (tmp_path / f"{name}.yaml").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.yaml").write_text(text)
    caplog.set_level(logging.INFO, "sie.audit")
    on_call: Callable[[], object] = list

    def next_call() -> How:
        on_call()
        return "well"

    disk = DiskDouble()
    async with open_stage(tmp_path, broker=True, backend=disk.mount(next_call), admin_token="very-secret") as stage:
        assert stage.broker is not None
        on_call = stage.broker.stop
        reply = await stage.post(BOTH, token="very-secret")
        assert reply.status_code == 201
        assert [warning.partition(":")[0] for warning in reply.json()["warnings"]] == ["nats_publish_failed"]
    audited = [record for record in caplog.records if record.name == "sie.audit"]
    assert [(record.event, record.status) for record in audited] == [("config.add_model", 201)]  # type: ignore[attr-defined]  # by extra
    assert "very-secret" not in str([record.__dict__ for record in caplog.records])
