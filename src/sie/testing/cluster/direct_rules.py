"""Does work for one worker by name reach somebody, and is it counted once (§8.2)? Of one life of a gateway.

What its worker's queue holds and nobody takes goes to the pool's queue soon; once the worker was told that, only a
result from there counts.
"""

from collections.abc import Callable, Iterator

import attrs

from sie.gateway.dispatch.direct import ASK_S, FALLBACK_S

SOON_S = FALLBACK_S + ASK_S + 3.0
"""Within this what nobody takes is in the pool's queue, the acks of both queues among it."""


@attrs.define(eq=False)
class Sent:
    """One item. `counting`: a result has come of which the reply may be made."""

    item_id: str
    sent_s: float
    is_taken: bool = False
    is_resent: bool = False
    is_withdrawn: bool = False
    counting: bool = False


@attrs.define(eq=False)
class DirectRules:
    """By request, until it is over."""

    violate: Callable[[str], None]
    open: dict[str, dict[int, Sent]] = attrs.field(factory=dict)

    def on_work(self, request_id: str, index: int, item_id: str, *, is_direct: bool, now_s: float) -> None:
        if is_direct:
            self.open.setdefault(request_id, {})[index] = Sent(item_id, now_s)
        elif (sent := self._find(request_id, index)) is not None:
            sent.is_resent = True

    def on_taken(self, item_id: str) -> None:
        """A worker has it from its own queue."""
        request_id, _, index = item_id.rpartition(".")
        if (sent := self._find(request_id, int(index))) is not None:
            sent.is_taken = True

    def on_withdrawn(self, request_id: str, index: int) -> None:
        if (sent := self._find(request_id, index)) is not None:
            sent.is_withdrawn = True

    def on_result(self, request_id: str, index: int, *, is_direct: bool) -> None:
        if (sent := self._find(request_id, index)) is not None:
            sent.counting |= not (is_direct and sent.is_withdrawn)

    def on_answered(self, request_id: str) -> None:
        """With a 200."""
        for sent in self.open.get(request_id, {}).values():
            if not sent.counting:
                self.violate(f"the reply holds a result of {sent.item_id} from a queue that it was withdrawn from")

    def on_over(self, request_id: str) -> None:
        self.open.pop(request_id, None)

    def forsaken(self, now_s: float) -> Iterator[Sent]:
        """What nobody has, nor will have."""
        for items in self.open.values():
            for sent in items.values():
                is_open = not (sent.is_taken or sent.is_resent or sent.counting)
                if is_open and now_s > sent.sent_s + SOON_S:
                    yield sent

    def _find(self, request_id: str, index: int) -> Sent | None:
        return self.open.get(request_id, {}).get(index)
