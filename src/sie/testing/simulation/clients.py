"""The clients of a simulation: each asks once, and what it gets is judged against what may be answered."""

import attrs
import trio

from sie.testing.cluster.catalogue import SERVED
from sie.testing.cluster.client import Ask, call_of, error_code, error_words, is_spoiled, judge_reading, read_answer
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.facts import GatewayFacts
from sie.testing.cluster.pool_calls import PROFILE
from sie.testing.cluster.served import Answer, ConnectionLost
from sie.testing.simulation.excuses import is_excused, may_refuse, reason_of

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
        gateway = self.cluster.gateway(ask.gateway)
        asking = Asking(ask, name, gateway.facts, trio.current_time())
        asking.begin()
        try:
            with trio.move_on_after(leaves_s):
                answer = await gateway.server.request(call_of(ask, name))
                ending = self._judge(asking, answer)
        except ConnectionLost:
            ending = "lost"
        asking.end(ending)
        self.waiting -= 1
        self.endings[ending] = self.endings.get(ending, 0) + 1
        self.cluster.log.add(name, ending)
        return ending

    def _judge(self, asking: "Asking", answer: Answer) -> str:
        request_id, direct = answer.headers.get("x-sie-request-id", ""), asking.gateway.direct
        if answer.status == 200:
            direct.on_answered(request_id)
        direct.on_over(request_id)
        if answer.status == 200:
            self._judge_success(asking, answer)
            return "answered"
        code = error_code(answer)
        now_s, reason = trio.current_time(), reason_of(code, error_words(answer))
        if code == "PROVISIONING":
            asking.gateway.demand.on_provisioning(error_words(answer), now_s)
        if not may_refuse(self.cluster, asking.gateway, asking.ask, reason, asking.since_s, now_s):
            self._violate(asking, f"was told {answer.status} {code}, which nothing excuses")
        if answer.status in (503, 504) and "retry-after" not in answer.headers:
            self._violate(asking, f"was told {code} without a Retry-After")
        return code

    def _judge_success(self, asking: "Asking", answer: Answer) -> None:
        ask, name = asking.ask, asking.name
        if ask.shape in NEVER_ANSWERED or ask.profile not in (None, PROFILE):
            self._violate(asking, "was answered with 200")
            return
        reading = read_answer(answer)
        for wrong in judge_reading(ask, name, reading):
            self.cluster.ledger.violate(wrong)
        for index, code in reading.errors.items():
            if not is_spoiled(ask, index) and not is_excused(self.cluster, code, asking.since_s, trio.current_time()):
                self._violate(asking, f"was told {code} for item {index}, which nothing excuses")

    def _violate(self, asking: "Asking", what: str) -> None:
        self.cluster.ledger.violate(f"{asking.name}, {asking.ask}, {what}")


@attrs.frozen
class Asking:
    """One request under way, and the life of the gateway that has it."""

    ask: Ask
    name: str
    gateway: GatewayFacts
    since_s: float

    def begin(self) -> None:
        self.gateway.demand.begin(self.since_s)

    def end(self, ending: str) -> None:
        is_plain, now_s = self.ask.is_plain and self.ask.model in SERVED, trio.current_time()
        self.gateway.demand.end(ending, is_plain=is_plain, asked_s=self.since_s, now_s=now_s)
