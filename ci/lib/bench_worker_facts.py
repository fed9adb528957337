"""What the worker of `ci/bench worker` serves, and the work that it and the bare loop are given."""

import time
from collections.abc import Mapping

import attrs

from ci.lib.bench_dispatch_facts import BULK_TEXT, DIM, TEXT
from ci.lib.demo_model import DOCUMENT
from sie.bus.jetstream import ConsumerSpec, StreamSpec
from sie.bus.work_streams import lane_consumer_spec, work_stream_spec
from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, MachineProfile, PoolName, RequestId, RouterId
from sie.domain.lane import Lane
from sie.domain.model import Json, Model
from sie.domain.registry import RegistrySnapshot
from sie.domain.subjects import result_subject, work_subject
from sie.wire.configs_api import ExportRow
from sie.wire.documents import load_yaml, model_of
from sie.wire.ipc import EncodeItem
from sie.wire.work import WorkItem, encode_work

LANE = Lane(PoolName("default"), MachineProfile("default"), BundleName("default"))
BARE_LANE = Lane(PoolName("bare"), MachineProfile("default"), BundleName("default"))
"""A stream of its own, with the same messages."""
MODEL = "acme/small"
ROUTER = RouterId("bench")
IN_FLIGHT = 64
REQUEST_ITEMS = 4
BATCH = 64


@attrs.frozen
class Served:
    """One model by its document, and the adapter module that its bundle runs."""

    config: Mapping[str, Json]
    adapter: str
    model: Model = attrs.field(init=False)
    config_hash: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "model", model_of(self.config))
        snapshot = RegistrySnapshot.of([self.bundle], [self.model])
        object.__setattr__(self, "config_hash", snapshot.scoped_hash(LANE.bundle, LANE.pool) or "")

    @property
    def bundle(self) -> Bundle:
        return Bundle(LANE.bundle, (self.adapter,), 10)

    @property
    def row(self) -> ExportRow:
        return ExportRow(model_id=self.model.sie_id, model_config=self.config)

    def subject(self, lane: Lane) -> str:
        return work_subject(lane, self.model.sie_id)

    def work(self, number: int) -> bytes:
        """Of requests of a few items each."""
        request = RequestId(f"r{number // REQUEST_ITEMS}")
        item = WorkItem(
            work_item_id=f"{request}.{number % REQUEST_ITEMS}",
            request_id=request,
            item_index=number % REQUEST_ITEMS,
            total_items=REQUEST_ITEMS,
            operation="encode",
            model_id=self.model.sie_id,
            profile_id="default",
            pool_name=LANE.pool,
            admission_pool=LANE.pool,
            machine_profile=LANE.machine_profile,
            router_id=ROUTER,
            reply_subject=result_subject(ROUTER, request),
            timestamp=time.time(),
            bundle_config_hash=self.config_hash,
            item={"id": str(number), "text": BULK_TEXT},
            accepts_result_chunks=True,
        )
        return encode_work(item)


def scripted() -> Served:
    """What a child that answers from a script is said to have."""
    profile: Mapping[str, Json] = {"adapter_path": "acme.encoders:Small", "max_batch_tokens": 4096}
    tasks: Mapping[str, Json] = {"encode": {"dense": {"dim": DIM}}}
    return Served({"sie_id": MODEL, "tasks": tasks, "profiles": {"default": profile}}, "acme.encoders")


def minilm() -> Served:
    document = load_yaml(DOCUMENT.read_text(encoding="utf-8"))
    assert isinstance(document, Mapping)
    return Served(document, "sie.adapters.tasks.dense")


def stream(lane: Lane) -> StreamSpec:
    return work_stream_spec(lane.pool, storage="memory", replicas=1, max_age_s=1800)


def consumer(lane: Lane) -> ConsumerSpec:
    return lane_consumer_spec(lane)


def encode_items() -> tuple[EncodeItem, ...]:
    """As documents have them."""
    return tuple(EncodeItem(item={"id": str(number), "text": TEXT}) for number in range(BATCH))
