"""How do streams and consumers come to be as the specs say (§8.2)? JetStream's JSON API over plain requests.

The one door to JetStream: specs, acks, publish acks and the puller are imported from here. Callers log what ensuring
found; storage is never changed, only reported.
"""

from collections.abc import Awaitable, Callable

from sie.bus.acks import ack, in_progress, nak, term
from sie.bus.jetstream_api import (
    ALREADY_THERE,
    NOT_FOUND,
    ApiError,
    ConsumerSpec,
    Delivery,
    Ensured,
    Json,
    Mismatch,
    PubAck,
    PubRefused,
    StreamSpec,
    answer_config,
    decode_answer,
    decode_delivery,
    decode_pub_ack,
    encode_consumer,
    encode_json,
    encode_stream,
)
from sie.bus.puller import ConsumerLost, Puller, open_puller
from sie.bus.reconcile import Repair, plan_consumer_repair, plan_stream_repair
from sie.bus.request import Requester, request

__all__ = [
    "ApiError",
    "ConsumerLost",
    "ConsumerSpec",
    "Delivery",
    "Ensured",
    "Mismatch",
    "PubAck",
    "PubRefused",
    "Puller",
    "StreamSpec",
    "ack",
    "call_api",
    "decode_delivery",
    "decode_pub_ack",
    "ensure_consumer",
    "ensure_stream",
    "in_progress",
    "nak",
    "open_puller",
    "term",
]

API_TIMEOUT_S = 5.0  # one call; the server answers in milliseconds or is electing a leader


async def call_api(bus: Requester, call: str, body: Json | None = None, *, timeout_s: float = API_TIMEOUT_S) -> Json:
    """One call of `$JS.API.{call}`. Raises ApiError, and what `request` raises (NoResponders: no JetStream)."""
    data = b"" if body is None else encode_json(body)
    return decode_answer(await request(bus, f"$JS.API.{call}", data, timeout_s=timeout_s))


async def ensure_stream(bus: Requester, spec: StreamSpec, *, timeout_s: float = API_TIMEOUT_S) -> Ensured:
    """Create the stream, or repair what may be repaired of an existing one. Raises as `call_api` does."""

    async def create() -> None:
        await call_api(bus, f"STREAM.CREATE.{spec.name}", encode_stream(spec), timeout_s=timeout_s)

    async def read() -> Json:
        return answer_config(await call_api(bus, f"STREAM.INFO.{spec.name}", timeout_s=timeout_s))

    found = await _read_or_create(read, create)
    if found is None:
        return Ensured(spec.name, "created")
    repair = plan_stream_repair(spec, found)
    if repair.config is not None:
        await call_api(bus, f"STREAM.UPDATE.{spec.name}", repair.config, timeout_s=timeout_s)
    return _ensured(spec.name, repair)


async def ensure_consumer(bus: Requester, spec: ConsumerSpec, *, timeout_s: float = API_TIMEOUT_S) -> Ensured:
    """Create the durable, or update an existing one whose settings differ. Raises as `call_api` does."""

    async def write(action: str, config: Json) -> None:
        call = f"CONSUMER.CREATE.{spec.stream}.{spec.name}.{spec.filter_subject}"
        body = {"stream_name": spec.stream, "config": config, "action": action}
        await call_api(bus, call, body, timeout_s=timeout_s)

    async def create() -> None:
        await write("create", encode_consumer(spec))

    async def read() -> Json:
        return answer_config(await call_api(bus, f"CONSUMER.INFO.{spec.stream}.{spec.name}", timeout_s=timeout_s))

    found = await _read_or_create(read, create)
    if found is None:
        return Ensured(spec.name, "created")
    repair = plan_consumer_repair(spec, found)
    if repair.config is not None:
        await write("update", repair.config)
    return _ensured(spec.name, repair)


async def _read_or_create(read: Callable[[], Awaitable[Json]], create: Callable[[], Awaitable[None]]) -> Json | None:
    """The settings found, None when we created them. Several processes do this at once (§8.3)."""
    try:
        return await read()
    except ApiError as error:
        if error.err_code not in NOT_FOUND:
            raise
    try:
        await create()
    except ApiError as error:
        if error.err_code not in ALREADY_THERE:
            raise
        return await read()  # another process was first, perhaps with other settings
    return None


def _ensured(name: str, repair: Repair) -> Ensured:
    return Ensured(name, "unchanged" if repair.config is None else "updated", repair.changed, repair.mismatches)
