"""Every stable error code of the system, in one table: what it means, its status, and whether a client may try again.

Codes are the contract (§2, wire-facts 1.7 and 3.3): clients branch on them, so one is never renamed or reused.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import attrs


class ErrorCode(StrEnum):
    """The spelling on the wire is the value; the config service and a few queue codes are lower case by contract."""

    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_INPUT = "INVALID_INPUT"
    INPUT_TOO_LONG = "INPUT_TOO_LONG"
    TOO_MANY_ITEMS = "TOO_MANY_ITEMS"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    MODEL_NOT_FOUND = "MODEL_NOT_FOUND"
    BUNDLE_NOT_FOUND = "BUNDLE_NOT_FOUND"
    BUNDLE_CONFLICT = "BUNDLE_CONFLICT"
    POOL_NOT_FOUND = "POOL_NOT_FOUND"
    POOL_PROTECTED = "POOL_PROTECTED"
    TOO_MANY_POOLS = "TOO_MANY_POOLS"
    GPU_NOT_CONFIGURED = "GPU_NOT_CONFIGURED"
    QUEUE_POOL_NOT_STATIC = "QUEUE_POOL_NOT_STATIC"
    PINNED_MODEL_NOT_FOUND = "PINNED_MODEL_NOT_FOUND"
    POOL_STORE_UNAVAILABLE = "POOL_STORE_UNAVAILABLE"
    PROVISIONING = "PROVISIONING"
    QUEUE_UNAVAILABLE = "QUEUE_UNAVAILABLE"
    QUEUE_FULL = "QUEUE_FULL"
    GATEWAY_TIMEOUT = "GATEWAY_TIMEOUT"
    MODEL_LOADING = "MODEL_LOADING"
    LORA_LOADING = "LORA_LOADING"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    MODEL_LOAD_FAILED = "MODEL_LOAD_FAILED"
    PAYLOAD_UNAVAILABLE = "PAYLOAD_UNAVAILABLE"
    TRANSPORT_FAILURE = "transport_failure"
    INFERENCE_ERROR = "inference_error"
    ALL_ITEMS_FAILED = "all_items_failed"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    CONFIG_INVALID_MODEL_ID = "invalid_model_id"
    CONFIG_MODEL_NOT_FOUND = "model_not_found"
    CONFIG_BUNDLE_NOT_FOUND = "bundle_not_found"
    CONFIG_REGISTRY_UNAVAILABLE = "registry_unavailable"
    CONFIG_PARSE_ERROR = "parse_error"
    CONFIG_MISSING_FIELD = "missing_field"
    CONFIG_INVALID_MODEL_SPEC = "invalid_model_spec"
    CONFIG_MODEL_ID_MISMATCH = "model_id_mismatch"
    CONFIG_BUNDLE_CONFLICT = "bundle_conflict"
    CONFIG_CONTENT_CONFLICT = "content_conflict"
    CONFIG_STORE_REQUIRED = "config_store_required"
    CONFIG_PAYLOAD_TOO_LARGE = "payload_too_large"
    CONFIG_VALIDATION_ERROR = "validation_error"
    CONFIG_IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    CONFIG_IDEMPOTENT_CANCELLED = "idempotent_inflight_cancelled"
    CONFIG_IDEMPOTENT_ABORTED = "idempotent_inflight_aborted"
    CONFIG_NATS_UNAVAILABLE = "nats_unavailable"
    CONFIG_STORE_UNAVAILABLE = "store_unavailable"
    CONFIG_EPOCH_FENCED = "epoch_fenced"


Envelope = Literal["detail", "error", "config"]
"""`detail`: refusals of the gateway; `error`: the retry contracts that SDKs read; `config`: the config service."""


@attrs.frozen
class ErrorRule:
    """What an error of one code looks like to a client. `retry_after_s` None means that no Retry-After is sent."""

    status: int
    envelope: Envelope
    meaning: str
    retry_after_s: int | None = None


ERRORS: Mapping[ErrorCode, ErrorRule] = {
    ErrorCode.INVALID_REQUEST: ErrorRule(
        400, "detail", "The body or a header is malformed; the message names the field"
    ),
    ErrorCode.INVALID_INPUT: ErrorRule(400, "detail", "An item cannot be worked on as it is"),
    ErrorCode.INPUT_TOO_LONG: ErrorRule(400, "detail", "An item is longer than the model takes"),
    ErrorCode.TOO_MANY_ITEMS: ErrorRule(400, "detail", "A request holds more items than the gateway takes"),
    ErrorCode.PAYLOAD_TOO_LARGE: ErrorRule(413, "detail", "A body or an item is over its byte limit"),
    ErrorCode.NOT_FOUND: ErrorRule(404, "detail", "There is no such path"),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorRule(
        405, "detail", "The path exists, the method does not; Allow lists those that do"
    ),
    ErrorCode.UNAUTHORIZED: ErrorRule(401, "detail", "A token is needed, and none that is known was sent"),
    ErrorCode.FORBIDDEN: ErrorRule(403, "detail", "Only the admin token may do this"),
    ErrorCode.MODEL_NOT_FOUND: ErrorRule(404, "detail", "No registered model or profile has this name"),
    ErrorCode.BUNDLE_NOT_FOUND: ErrorRule(404, "detail", "No registered bundle has this name"),
    ErrorCode.BUNDLE_CONFLICT: ErrorRule(
        409, "detail", "The bundle that is asked for does not run the model; `compatible_bundles` do"
    ),
    ErrorCode.POOL_NOT_FOUND: ErrorRule(404, "detail", "There is no pool of this name; it may have expired"),
    ErrorCode.POOL_PROTECTED: ErrorRule(403, "detail", "The pool is the cluster's own: nobody makes or deletes it"),
    ErrorCode.TOO_MANY_POOLS: ErrorRule(409, "detail", "No more pools are kept: one has to go before another is made"),
    ErrorCode.GPU_NOT_CONFIGURED: ErrorRule(
        400, "detail", "The cluster has no machine profile of this name; `configured_gpu_types` are those it has"
    ),
    ErrorCode.QUEUE_POOL_NOT_STATIC: ErrorRule(
        400, "detail", "Only a queue pool that the cluster was deployed with can stand behind a pool"
    ),
    ErrorCode.PINNED_MODEL_NOT_FOUND: ErrorRule(400, "detail", "A pool pins a model that is not registered"),
    ErrorCode.POOL_STORE_UNAVAILABLE: ErrorRule(
        503, "detail", "The place where pools are kept cannot be changed now; pools that are known go on", 5
    ),
    ErrorCode.PROVISIONING: ErrorRule(503, "error", "No healthy worker serves the model's lane yet", 60),
    ErrorCode.QUEUE_UNAVAILABLE: ErrorRule(503, "error", "The broker could not take the work", 5),
    ErrorCode.QUEUE_FULL: ErrorRule(503, "error", "The queue holds all that it may", 5),
    ErrorCode.GATEWAY_TIMEOUT: ErrorRule(504, "error", "The work was queued, and no result came in time", 5),
    ErrorCode.MODEL_LOADING: ErrorRule(503, "error", "The worker is still loading the model", 5),
    ErrorCode.LORA_LOADING: ErrorRule(503, "error", "The worker is still loading the adapter weights", 5),
    ErrorCode.RESOURCE_EXHAUSTED: ErrorRule(503, "error", "The device ran out of memory", 5),
    ErrorCode.MODEL_LOAD_FAILED: ErrorRule(
        502, "error", "The model cannot be loaded; `permanent` says whether that can change"
    ),
    ErrorCode.PAYLOAD_UNAVAILABLE: ErrorRule(
        503, "error", "An item's input lay in the payload store, and cannot be read from there", 5
    ),
    ErrorCode.TRANSPORT_FAILURE: ErrorRule(503, "error", "A result could not be put together from its chunks"),
    ErrorCode.INFERENCE_ERROR: ErrorRule(500, "error", "An item failed while it ran"),
    ErrorCode.ALL_ITEMS_FAILED: ErrorRule(500, "error", "Every item failed; `details` says how each did"),
    ErrorCode.INTERNAL_ERROR: ErrorRule(500, "detail", "A fault of the service itself; nothing about it is told"),
    ErrorCode.CONFIG_INVALID_MODEL_ID: ErrorRule(400, "config", "The id cannot name a model"),
    ErrorCode.CONFIG_MODEL_NOT_FOUND: ErrorRule(404, "config", "The config service holds no model of this id"),
    ErrorCode.CONFIG_BUNDLE_NOT_FOUND: ErrorRule(404, "config", "The config service holds no bundle of this name"),
    ErrorCode.CONFIG_REGISTRY_UNAVAILABLE: ErrorRule(503, "config", "The registry could not be built at start"),
    ErrorCode.CONFIG_PARSE_ERROR: ErrorRule(400, "config", "The body is no document of the kind that is taken"),
    ErrorCode.CONFIG_MISSING_FIELD: ErrorRule(400, "config", "A field that must be there is not"),
    ErrorCode.CONFIG_INVALID_MODEL_SPEC: ErrorRule(400, "config", "The spec names no model"),
    ErrorCode.CONFIG_MODEL_ID_MISMATCH: ErrorRule(400, "config", "Body and path name two models"),
    ErrorCode.CONFIG_BUNDLE_CONFLICT: ErrorRule(409, "config", "The bundle that is asked for does not run the model"),
    ErrorCode.CONFIG_CONTENT_CONFLICT: ErrorRule(
        409, "config", "What is there has another content, and a POST only appends; the fields or profiles are named"
    ),
    ErrorCode.CONFIG_STORE_REQUIRED: ErrorRule(
        409, "config", "Only what is stored can be deleted, and there is no store"
    ),
    ErrorCode.CONFIG_PAYLOAD_TOO_LARGE: ErrorRule(413, "config", "The body is over the byte limit"),
    ErrorCode.CONFIG_VALIDATION_ERROR: ErrorRule(422, "config", "The document cannot be served; `details` says why"),
    ErrorCode.CONFIG_IDEMPOTENCY_MISMATCH: ErrorRule(422, "config", "The Idempotency-Key belongs to another request"),
    ErrorCode.CONFIG_IDEMPOTENT_CANCELLED: ErrorRule(
        503, "config", "The request that held this Idempotency-Key was cancelled and did nothing"
    ),
    ErrorCode.CONFIG_IDEMPOTENT_ABORTED: ErrorRule(
        503, "config", "The request that held this Idempotency-Key ended without an answer"
    ),
    ErrorCode.CONFIG_NATS_UNAVAILABLE: ErrorRule(503, "config", "The broker is away, so a write could not be told"),
    ErrorCode.CONFIG_STORE_UNAVAILABLE: ErrorRule(503, "config", "The config store cannot be read or written now"),
    ErrorCode.CONFIG_EPOCH_FENCED: ErrorRule(
        503, "config", "Another writer has been at the store; nothing of this write stays, and the store is read again"
    ),
}
