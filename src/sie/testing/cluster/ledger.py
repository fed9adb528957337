"""What became of every work item, as seen from outside the services, and the rules that must hold at each event.

It is told what gateways publish, what workers are lent, run, answer and acknowledge. A broken rule is kept as a line.
"""

from collections.abc import Callable, Mapping

import attrs

from sie.testing.cluster.authority import AuthorityLink
from sie.testing.cluster.device import LoadFailure
from sie.wire.codec import unpack

HashOf = Callable[[int], str]
"""The lane's configuration hash in an edition of the catalogue."""


@attrs.frozen
class Item:
    """A work item as its gateway published it; `deadline_s` is unix time."""

    item_id: str
    request_id: str
    serving_id: str
    text: str
    config_hash: str
    deadline_s: float


@attrs.define(eq=False)
class WorkerFacts:
    """One life of one worker process."""

    name: str
    unix_s: Callable[[], float]
    link: AuthorityLink
    lent: dict[str, str] = attrs.field(factory=dict)
    """Ack subject to item id."""
    answered: dict[str, bytes] = attrs.field(factory=dict)
    refusing: set[str] = attrs.field(factory=set)
    """Serving ids whose load failed for good."""
    has_failed: bool = False
    """Whether any load failed."""
    has_ensured: bool = False
    """Whether the consumer was asked for."""
    is_ready: bool = False
    queue_depth: int = 0


@attrs.define(eq=False)
class Ledger:
    hash_of: HashOf
    items: dict[str, Item] = attrs.field(factory=dict)
    violations: list[str] = attrs.field(factory=list)
    results: dict[str, int] = attrs.field(factory=dict)
    """How many results each item was given, by item id."""
    counts: dict[str, int] = attrs.field(factory=dict)
    _by_text: dict[str, Item] = attrs.field(factory=dict)

    def violate(self, rule: str) -> None:
        self.violations.append(rule)

    def count(self, fact: str) -> None:
        self.counts[fact] = self.counts.get(fact, 0) + 1

    def on_work(self, data: bytes) -> None:
        item = _item(data)
        self.items[item.item_id] = self._by_text[item.text] = item
        self.count("items published")

    def on_lent(self, worker: WorkerFacts, ack_subject: str, item_id: str) -> None:
        worker.lent[ack_subject] = item_id
        self.count("deliveries")

    def on_batch(self, worker: WorkerFacts, serving_id: str, texts: tuple[str, ...]) -> None:
        self.count("batches")
        held = self.hash_of(worker.link.read_edition)
        for text in texts:
            item = self._by_text.get(text)
            if item is None:
                self.violate(f"{worker.name} runs {text!r}, which no gateway published")
            elif item.serving_id != serving_id:
                self.violate(f"{worker.name} runs {item.item_id} as {serving_id}, it asks for {item.serving_id}")
            elif item.config_hash != held:
                self.violate(f"{worker.name} holds {held:.8} and runs {item.item_id}, routed by {item.config_hash:.8}")

    def on_load(self, worker: WorkerFacts, serving_id: str, failure: LoadFailure | None) -> None:
        self.count(f"loads {failure or 'done'}")
        worker.has_failed |= failure is not None
        if failure == "permanent":
            worker.refusing.add(serving_id)
        elif serving_id in worker.refusing:
            self.violate(f"{worker.name} loads {serving_id} again after it failed for good")

    def on_result(self, worker: WorkerFacts, subject: str, data: bytes) -> None:
        body = _fields(data)
        item = self.items.get(str(body.get("work_item_id")))
        if item is None or not subject.endswith(item.request_id) or body.get("request_id") != item.request_id:
            self.violate(f"{worker.name} answers {body.get('work_item_id')} on {subject}")
            return
        answer = body.get("result_msgpack")
        self.results[item.item_id] = self.results.get(item.item_id, 0) + 1
        self.count("results" if answer else "error results")
        if answer and item.serving_id in worker.refusing:
            self.violate(f"{worker.name} answers {item.item_id} although {item.serving_id} failed to load for good")
        self._keep_answer(worker, item, answer if isinstance(answer, bytes) else b"")

    def _keep_answer(self, worker: WorkerFacts, item: Item, answer: bytes) -> None:
        before = worker.answered.get(item.item_id)
        if before and answer and before != answer:
            self.violate(f"{worker.name} answers {item.item_id} twice, and not the same")
        worker.answered[item.item_id] = answer or before or b""

    def on_heartbeat(self, worker: WorkerFacts, data: bytes) -> None:
        body = _fields(data)
        depth = body.get("queue_depth")
        worker.is_ready = body.get("ready") is True and body.get("draining") is False
        worker.queue_depth = depth if isinstance(depth, int) else 0
        self.count("heartbeats")
        if worker.is_ready and not worker.has_ensured:
            self.violate(f"{worker.name} says that it is ready before it has asked for its consumer")

    def on_word(self, worker: WorkerFacts, ack_subject: str, word: bytes) -> None:
        """What a worker tells the broker of a delivery."""
        item_id = worker.lent.get(ack_subject)
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
        elif item_id not in worker.answered and worker.unix_s() < item.deadline_s:
            self.violate(f"{worker.name} acknowledges {item_id} before it has published its result")


def _item(data: bytes) -> Item:
    body = _fields(data)
    content, deadline_s = body.get("item"), body.get("deadline")
    profile = body.get("profile_id")
    return Item(
        item_id=str(body.get("work_item_id")),
        request_id=str(body.get("request_id")),
        serving_id=str(body.get("model_id")) if profile == "default" else f"{body.get('model_id')}:{profile}",
        text=str(content.get("text")) if isinstance(content, Mapping) else "",
        config_hash=str(body.get("bundle_config_hash")),
        deadline_s=deadline_s if isinstance(deadline_s, float) else float("inf"),
    )


def _fields(data: bytes) -> Mapping[object, object]:
    body = unpack(data)
    return body if isinstance(body, Mapping) else {}
