"""What both gateways of `ci/bench dispatch` are asked, and what the worker behind them answers with."""

import attrs
import msgpack
import numpy as np
import orjson

from sie.bus.jetstream import ConsumerSpec, StreamSpec
from sie.bus.work_streams import lane_consumer_spec, work_stream_spec
from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, MachineProfile, ModelId, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.registry import RegistrySnapshot
from sie.domain.subjects import work_subject
from sie.domain.worker import ModelState, WorkerStatus
from sie.wire.configs_api import ExportRow
from sie.wire.documents import model_of
from sie.wire.ndarray import array_to_wire

MODEL = "acme/small"
PATH = f"/v1/encode/{MODEL}"
DIM = 384
MODEL_CONFIG = {
    "sie_id": MODEL,
    "tasks": {"encode": {"dense": {"dim": DIM}}},
    "profiles": {"default": {"adapter_path": "acme.encoders:Small", "max_batch_tokens": 64}},
}
BUNDLE = Bundle(BundleName("default"), ("acme.encoders",), 10)
ROW = ExportRow(model_id=MODEL, model_config=MODEL_CONFIG)
SNAPSHOT = RegistrySnapshot.of([BUNDLE], [model_of(MODEL_CONFIG)])
LANE = Lane(PoolName("default"), MachineProfile("default"), BundleName("default"))
CONFIG_HASH = SNAPSHOT.scoped_hash(LANE.bundle, LANE.pool) or ""
SUBJECT = work_subject(LANE, ModelId(MODEL))
STATUS = WorkerStatus(
    WorkerId("w1"),
    LANE,
    SNAPSHOT.scoped_hash(LANE.bundle, LANE.pool),
    ready=True,
    models=(ModelState(MODEL, "loaded", "ready"),),
)

TEXT = "the quick brown fox jumps over the lazy dog " * 23
"""About 1 KB, as documents have."""
SILENT, CHUNKS = "silent", "chunks"
"""What the worker takes and never answers, and what it answers in pieces."""
CHUNKED_BYTES = 64 * 1024
ITEMS = 2
BULK_ITEMS = 4096
BULK_TEXT = "a short text to be encoded with many others of its kind"


@attrs.frozen
class Asked:
    """A request's body in one of the two forms."""

    kind: str
    body: bytes

    @property
    def content_type(self) -> str:
        return "application/json" if self.kind == "json" else "application/msgpack"


def asked(kind: str, texts: list[str]) -> Asked:
    value = {"items": [{"id": str(index), "text": text} for index, text in enumerate(texts)]}
    return Asked(kind, orjson.dumps(value) if kind == "json" else msgpack.packb(value))


def small(kind: str) -> Asked:
    return asked(kind, [TEXT] * ITEMS)


def bulk(kind: str) -> Asked:
    return asked(kind, [BULK_TEXT] * BULK_ITEMS)


def answer_blob() -> bytes:
    """The finished item of a reply, as a worker writes it: `DIM` floats that have all of their digits."""
    vector = np.random.default_rng(7).standard_normal(DIM, dtype=np.float32)
    values = array_to_wire(vector / np.linalg.norm(vector))
    blob: bytes = msgpack.packb({"id": None, "dense": {"dims": DIM, "dtype": "float32", "values": values}})
    return blob


def stream() -> StreamSpec:
    return work_stream_spec(LANE.pool, storage="memory", replicas=1, max_age_s=1800)


def consumer() -> ConsumerSpec:
    return lane_consumer_spec(LANE)
