"""The clients of a simulation: each asks once, and what it gets is judged against what may be answered."""

from collections.abc import Mapping

import attrs
import trio

from sie.testing.cluster.client import Ask, Shape, call_of, error_code, judge_reading, read_answer
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.served import Answer, ConnectionLost

RETRYABLE = frozenset({"PROVISIONING", "QUEUE_UNAVAILABLE", "QUEUE_FULL", "GATEWAY_TIMEOUT", "MODEL_LOADING"})
"""What any accepted request may be told while something is broken."""
FAILED = frozenset({"all_items_failed", "MODEL_LOAD_FAILED"})
ALLOWED: Mapping[Shape, frozenset[str]] = {
    "good": RETRYABLE | FAILED | {"MODEL_NOT_FOUND"},
    "half_broken": RETRYABLE | FAILED | {"MODEL_NOT_FOUND"},
    "broken": RETRYABLE | FAILED | {"MODEL_NOT_FOUND"},
    "fatal": RETRYABLE | FAILED | {"MODEL_NOT_FOUND"},
    "missing_model": frozenset({"MODEL_NOT_FOUND"}),
    "malformed": RETRYABLE | {"INVALID_REQUEST", "MODEL_NOT_FOUND"},
    "no_items": RETRYABLE | {"INVALID_INPUT", "MODEL_NOT_FOUND"},
}
NEVER_ANSWERED = frozenset({"broken", "missing_model", "malformed", "no_items"})
"""Shapes that no 200 can be the answer to."""


@attrs.define(eq=False)
class Clients:
    """`endings` counts how asks ended: by code, `answered`, `left` or `lost`."""

    cluster: Cluster
    waiting: int = 0
    asked: int = 0
    endings: dict[str, int] = attrs.field(factory=dict)

    def ask_soon(self, ask: Ask) -> None:
        for _ in range(ask.clients):
            self.asked += 1
            self.waiting += 1
            self.cluster.nursery.start_soon(self._ask, ask, f"q{self.asked}")

    async def ask(self, ask: Ask) -> str:
        """How it ended."""
        self.asked += 1
        self.waiting += 1
        return await self._ask(ask, f"q{self.asked}")

    async def _ask(self, ask: Ask, name: str) -> str:
        ending = "left"
        leaves_s = float("inf") if ask.leaves_after_s is None else ask.leaves_after_s
        try:
            with trio.move_on_after(leaves_s):
                answer = await self.cluster.gateway(ask.gateway).server.request(call_of(ask, name))
                ending = self._judge(ask, name, answer)
        except ConnectionLost:
            ending = "lost"
        self.waiting -= 1
        self.endings[ending] = self.endings.get(ending, 0) + 1
        self.cluster.log.add(name, ending)
        return ending

    def _judge(self, ask: Ask, name: str, answer: Answer) -> str:
        if answer.status == 200:
            self._judge_success(ask, name, answer)
            return "answered"
        code = error_code(answer)
        if code not in ALLOWED[ask.shape]:
            self.cluster.ledger.violate(f"{name}, {ask}, was told {answer.status} {code}")
        if answer.status in (503, 504) and "retry-after" not in answer.headers:
            self.cluster.ledger.violate(f"{name} was told {code} without a Retry-After")
        return code

    def _judge_success(self, ask: Ask, name: str, answer: Answer) -> None:
        if ask.shape in NEVER_ANSWERED:
            self.cluster.ledger.violate(f"{name}, {ask}, was answered with 200")
            return
        for wrong in judge_reading(ask, name, read_answer(answer)):
            self.cluster.ledger.violate(wrong)
