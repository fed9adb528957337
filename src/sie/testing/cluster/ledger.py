"""What became of every work item, as seen from outside the services, and the rules that must hold at each event.

It is told what gateways publish, what workers are lent, run, answer and acknowledge. A broken rule is kept as a line.
"""

import json
from collections.abc import Iterable, Mapping

import attrs
import trio

from sie.bus.api import Message
from sie.bus.pulls import PullLost, judge_pull_status
from sie.testing.cluster.device import LoadFailure
from sie.testing.cluster.direct_rules import DirectRules
from sie.testing.cluster.facts import POOL_STREAM, GatewayFacts, WorkerFacts, fields
from sie.testing.cluster.leases import MOST_LEASES, is_own
from sie.testing.cluster.payload_store import PayloadDouble
from sie.testing.cluster.vectors import is_innocent, known_as
from sie.testing.cluster.weather import CHILD_DIED, WORKER_AWAY, Weather
from sie.worker.consume.source import OWN_CAPACITY, PULL_CAPACITY
from sie.worker.core.flights import MAX_BATCHES, MAX_DEATHS

RUN_AGAIN_S: Mapping[str, float] = {
    **dict.fromkeys(("BrokerRestarts", "BrokerDown", "ConnectionCut", "Partition", "Latency"), 60.0),
    **dict.fromkeys(("MessagesLost", WORKER_AWAY, CHILD_DIED), 60.0),
}
"""Trouble that makes work run again, and for how long after it: twice the ack_wait, for a lease that just began."""
PULL = "$JS.API.CONSUMER.MSG.NEXT."
JUST_S = 0.5
"""From the judgement of a worker to its child's."""
LEAST_RUNS = MAX_DEATHS - 1
"""Of an item that children died of: it may have been with the first of them and not begun."""


@attrs.define(eq=False)
class Item:
    """A work item as its gateway published it; `deadline_s` and `routed_s` are unix time. `is_resent`: it went to one
    worker by name, and then to its pool's queue too.
    """

    item_id: str
    request_id: str
    serving_id: str
    text: str
    config_hash: str
    deadline_s: float
    routed_s: float
    published_s: float
    sender: DirectRules
    pool: str = ""
    index: int = 0
    runs: int = 0
    is_resent: bool = False


@attrs.define(eq=False)
class Ledger:
    weather: Weather
    payloads: PayloadDouble
    items: dict[str, Item] = attrs.field(factory=dict)
    violations: list[str] = attrs.field(factory=list)
    counts: dict[str, int] = attrs.field(factory=dict)
    _by_text: dict[str, Item] = attrs.field(factory=dict)

    def violate(self, rule: str) -> None:
        self.violations.append(rule)

    def count(self, fact: str) -> None:
        self.counts[fact] = self.counts.get(fact, 0) + 1

    def on_work(self, gateway: GatewayFacts, data: bytes, *, is_direct: bool = False) -> None:
        item = _item(data, self.payloads.texts, gateway.direct)
        now_s = trio.current_time()
        gateway.direct.on_work(item.request_id, item.index, item.item_id, is_direct=is_direct, now_s=now_s)
        if (before := self.items.get(item.item_id)) is not None:
            before.is_resent = True
            self.count("items sent to their pool")
            return
        self.items[item.item_id] = self._by_text[item.text] = item
        self.count("items sent to a worker" if is_direct else "items published")
        routed_s = trio.current_time() + item.routed_s - gateway.clock.unix_s()
        by_this_clock = routed_s > gateway.clock.jumped_s
        if by_this_clock and not gateway.could_use(item.config_hash, routed_s):
            self.violate(f"{gateway.name} queues {item.item_id} for {item.config_hash:.8}, and hears of nobody there")

    def on_withdrawal(self, worker: WorkerFacts, request_id: str, indexes: Iterable[int]) -> None:
        self.count("withdrawals heard")
        for index in indexes:
            worker.withdrawals.setdefault(f"{request_id}.{index}", trio.current_time())

    def on_lent(self, worker: WorkerFacts, ack_subject: str, item_id: str) -> None:
        worker.leases.lend(ack_subject, item_id)
        self.count("deliveries")
        if is_own(ack_subject) and (item := self.items.get(item_id)) is not None:
            item.sender.on_taken(item_id)
        if (held := len(worker.leases.open)) > MOST_LEASES:
            self.violate(f"{worker.name} holds {held} deliveries, which is above {MOST_LEASES}")

    def on_pull(self, worker: WorkerFacts, message: Message) -> None:
        stream = message.subject.removeprefix(PULL).partition(".")[0]
        worker.pulled[_puller(message.reply)] = stream
        batch = json.loads(message.data)["batch"]
        if batch > (most := PULL_CAPACITY if stream.startswith(POOL_STREAM) else OWN_CAPACITY):
            self.violate(f"{worker.name} asks {stream} for {batch} deliveries, which is above {most}")

    def on_status(self, worker: WorkerFacts, message: Message) -> None:
        """What the broker says of a worker's pull."""
        if isinstance(judge_pull_status(message.status, message.headers.get("Description", "")), PullLost):
            worker.lose_consumer(worker.pulled[_puller(message.subject)])

    def on_cancel(self, worker: WorkerFacts, data: bytes) -> None:
        self.count("cancels heard")
        worker.cancels.setdefault(str(fields(data).get("request_id")), trio.current_time())

    def on_held_batches(self, worker: WorkerFacts, count: int, texts: tuple[str, ...]) -> None:
        """A batch has come to the child, which holds so many now."""
        if count > MAX_BATCHES:
            self.violate(f"{worker.name} has {count} batches with its child, which is above {MAX_BATCHES}")
        for item in (self._by_text[text] for text in texts if text in self._by_text):
            cancelled_s = worker.cancels.get(item.request_id, float("inf"))
            if trio.current_time() > cancelled_s and not self._may_wait_between():
                self.violate(f"{worker.name} runs {item.item_id}, and had heard that nobody waits for it")
            self._check_standing(worker, item)

    def _check_standing(self, worker: WorkerFacts, item: Item) -> None:
        """Of its own queue a worker runs what was not withdrawn, and of a pool what that assigns to it."""
        now_s = trio.current_time()
        if self._may_wait_between():
            return
        is_withdrawn = now_s > worker.withdrawals.get(item.item_id, float("inf"))
        if is_withdrawn and not worker.leases.had_from_pool(item.item_id):
            self.violate(f"{worker.name} runs {item.item_id}, and had heard that its pool has it")
        if not worker.pools.has_held(item.pool, now_s - JUST_S):
            self.violate(f"{worker.name} runs {item.item_id} of the pool {item.pool}, which does not assign it")

    def _may_wait_between(self) -> bool:
        """A batch that is sent again, or waits for a child, was the worker's to run already."""
        return any(kind == CHILD_DIED and over_s < RUN_AGAIN_S[CHILD_DIED] for kind, over_s in self.weather.ages_s())

    def on_batch(self, worker: WorkerFacts, serving_id: str, texts: tuple[str, ...]) -> None:
        self.count("batches")
        for text in texts:
            item = self._by_text.get(text)
            if item is None:
                self.violate(f"{worker.name} runs {text!r}, which no gateway published")
            elif item.serving_id != serving_id:
                self.violate(f"{worker.name} runs {item.item_id} as {serving_id}, it asks for {item.serving_id}")
            elif not worker.link.has_held(item.config_hash, item.published_s):
                held = f"{worker.name} holds {worker.link.lane_hash:.8}"
                self.violate(f"{held} and runs {item.item_id}, routed by {item.config_hash:.8}")
            else:
                self._on_run(worker, item)

    def _on_run(self, worker: WorkerFacts, item: Item) -> None:
        item.runs += 1
        if item.runs > 1 and not self._may_run_again(item):
            self.violate(f"{worker.name} runs {item.item_id} for time {item.runs} when nothing is wrong")

    def _may_run_again(self, item: Item) -> bool:
        """Trouble since it was published, or shortly before."""
        age_s = trio.current_time() - item.published_s
        if item.is_resent:
            return True
        return any(over_s <= age_s + RUN_AGAIN_S.get(kind, -age_s - 1) for kind, over_s in self.weather.ages_s())

    def on_load(self, worker: WorkerFacts, serving_id: str, failure: LoadFailure | None) -> None:
        self.count(f"loads {failure or 'done'}")
        worker.load_ended(serving_id, failed=failure is not None)
        if failure == "permanent":
            worker.refusing.add(serving_id)
        elif serving_id in worker.refusing:
            self.violate(f"{worker.name} loads {serving_id} again after it failed for good")

    def on_result(self, worker: WorkerFacts, subject: str, data: bytes) -> None:
        body = fields(data)
        item = self.items.get(str(body.get("work_item_id")))
        if item is None or not subject.endswith(item.request_id) or body.get("request_id") != item.request_id:
            self.violate(f"{worker.name} answers {body.get('work_item_id')} on {subject}")
            return
        if "transfer_digest" in body:
            self._on_part(worker, item, body)
            return
        answer = body.get("result_msgpack")
        worker.leases.answer(item.item_id)
        self.count("results" if answer else "error results")
        if answer and item.serving_id in worker.refusing:
            self.violate(f"{worker.name} answers {item.item_id} although {item.serving_id} failed to load for good")
        if body.get("error_code") == "inference_error" and is_innocent(item.text) and item.runs < LEAST_RUNS:
            self.violate(f"{worker.name} gives up {item.item_id} after {item.runs} runs, and it is not to blame")
        self._keep_answer(worker, item, answer if isinstance(answer, bytes) else b"")

    def _on_part(self, worker: WorkerFacts, item: Item, body: Mapping[object, object]) -> None:
        """The last one ends it. What they are together is left to the client's eyes."""
        index, count = body.get("chunk_index"), body.get("chunk_count")
        if isinstance(index, int) and index + 1 == count:
            self.count("results in parts")
            worker.leases.answer(item.item_id)
            worker.answered.setdefault(item.item_id, b"")

    def _keep_answer(self, worker: WorkerFacts, item: Item, answer: bytes) -> None:
        before = worker.answered.get(item.item_id)
        if before and answer and before != answer:
            self.violate(f"{worker.name} answers {item.item_id} twice, and not the same")
        worker.answered[item.item_id] = answer or before or b""

    def on_heartbeat(self, worker: WorkerFacts, data: bytes) -> None:
        body = fields(data)
        depth = body.get("queue_depth")
        worker.is_draining = body.get("draining") is True
        worker.is_ready = body.get("ready") is True and not worker.is_draining
        worker.queue_depth = depth if isinstance(depth, int) else 0
        self.count("heartbeats")
        if worker.is_ready and not worker.has_ensured and trio.current_time() > worker.ensure_due_s:
            self.violate(f"{worker.name} says that it is ready before it has asked for its consumer")
        for item_id in worker.leases.overdue():
            self.violate(f"{worker.name} has answered {item_id} and does not acknowledge it")

    def on_word(self, worker: WorkerFacts, ack_subject: str, word: bytes) -> None:
        """What a worker tells the broker of a delivery."""
        item_id = worker.leases.given.get(ack_subject)
        worker.leases.tell(ack_subject, word)
        if item_id is None:
            self.violate(f"{worker.name} says {word!r} of a delivery it never got")
        elif word == b"+ACK":
            self._on_ack(worker, item_id)
        elif word == b"+TERM":
            self.violate(f"{worker.name} discards {item_id}, which is a good work item")

    def _on_ack(self, worker: WorkerFacts, item_id: str) -> None:
        self.count("acks")
        item = self.items.get(item_id)
        if item is None:
            self.violate(f"{worker.name} acknowledges {item_id}, which no gateway published")
        elif not (
            item_id in worker.answered
            or item.request_id in worker.cancels
            or item_id in worker.withdrawals
            or worker.leases.holds(item_id)  # from the other queue that has it
            or worker.unix_s() >= item.deadline_s
        ):
            self.violate(f"{worker.name} acknowledges {item_id} before it has published its result")

    def on_orderly_end(self, worker: WorkerFacts) -> None:
        for item_id in worker.leases.open:
            self.violate(f"{worker.name} ends in order and says nothing of {item_id}, which it holds")


def _puller(reply: str) -> str:
    """Its replies are numbered."""
    return reply.rpartition(".")[0]


def _item(data: bytes, texts: Mapping[str, str], sender: DirectRules) -> Item:
    """`texts` are those of inputs that were put aside, by key."""
    body = fields(data)
    aside, index = texts.get(str(body.get("payload_ref")), ""), body.get("item_index")
    content, deadline_s, routed_s = body.get("item"), body.get("deadline"), body.get("timestamp")
    profile = body.get("profile_id")
    return Item(
        item_id=str(body.get("work_item_id")),
        request_id=str(body.get("request_id")),
        serving_id=str(body.get("model_id")) if profile == "default" else f"{body.get('model_id')}:{profile}",
        text=known_as(str(content.get("text"))) if isinstance(content, Mapping) else aside,
        config_hash=str(body.get("bundle_config_hash")),
        deadline_s=deadline_s if isinstance(deadline_s, float) else float("inf"),
        routed_s=routed_s if isinstance(routed_s, float) else 0.0,
        published_s=trio.current_time(),
        sender=sender,
        pool=str(body.get("admission_pool")),
        index=index if isinstance(index, int) else 0,
    )
