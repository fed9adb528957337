"""How do gateways and workers hear of a write (§3, wire-facts 3.9)? One message a bundle on its own subject, and the
same bytes on the subject of all, in epoch order: the caller holds the write lock.
"""

import logging
from collections.abc import Iterable

import attrs
import trio

from sie.bus.api import Bus, BusError, Message
from sie.domain.ids import BundleName
from sie.domain.subjects import CONFIG_ALL, config_subject
from sie.wire.notification import ConfigNotification, encode_notification

log = logging.getLogger(__name__)

CONFIRM_S = 2.0
"""A round trip through the broker; a write waits no longer than this to know that its deltas arrived."""


@attrs.frozen
class Told:
    """`failed` are bundles whose messages could not be sent; `confirmed`: the broker has had all the others."""

    failed: tuple[str, ...] = ()
    confirmed: bool = True


@attrs.frozen
class ConfigPublisher:
    """`producer` is what subscribers know us by (§4.3)."""

    bus: Bus
    producer: str

    @property
    def is_connected(self) -> bool:
        return self.bus.session != 0

    async def publish(self, notifications: Iterable[ConfigNotification]) -> Told:
        """Tries every bundle, whatever becomes of the one before it."""
        session = self.bus.session
        failed = tuple(n.bundle_id for n in notifications if not self._publish_nowait(n))
        confirmed = await self._confirm()
        return Told(failed, confirmed and session == self.bus.session != 0)

    def _publish_nowait(self, notification: ConfigNotification) -> bool:
        data = encode_notification(notification)
        try:
            self.bus.publish_nowait(config_subject(BundleName(notification.bundle_id)), data)
            self.bus.publish_nowait(CONFIG_ALL, data)
        except BusError as error:
            log.warning("a delta is not sent", extra={"bundle": notification.bundle_id, "error": str(error)})
            return False
        return True

    async def _confirm(self) -> bool:
        """What a connection carries arrives in order: when our own word comes back, all before it was taken."""
        came_back = trio.Event()

        def on_reply(_: Message) -> None:
            came_back.set()

        correlation = self.bus.correlate(on_reply)
        try:
            self.bus.publish_nowait(correlation.subject, b"")
            with trio.move_on_after(CONFIRM_S):
                await came_back.wait()
        except BusError:
            return False
        finally:
            correlation.forget()
        return came_back.is_set()
