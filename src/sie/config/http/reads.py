"""The config service's read endpoints (§14, wire-facts 3.2): each a function of what is served at that moment."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

import attrs

from sie.config.core import export
from sie.config.http.guards import Guards, all_of, current, invalid_model_id
from sie.config.state import ConfigState
from sie.domain import ids
from sie.domain.errors import ErrorCode
from sie.domain.registry import RegistrySnapshot
from sie.domain.resolving import Fault, Resolved, resolve
from sie.web.bodies import JSON_TYPE, json_reply, read_body, yaml_reply
from sie.web.errors import Refusal
from sie.web.routes import Reply, Request, Route, Streamed
from sie.wire.configs_api import to_json
from sie.wire.converters import WireError
from sie.wire.yaml_text import dump_yaml

_RESOLVE_CODES: Mapping[Fault, ErrorCode] = {
    "body": ErrorCode.CONFIG_PARSE_ERROR,
    "field": ErrorCode.CONFIG_MISSING_FIELD,
    "spec": ErrorCode.CONFIG_INVALID_MODEL_SPEC,
    "model": ErrorCode.CONFIG_MODEL_NOT_FOUND,
    "bundle": ErrorCode.CONFIG_BUNDLE_CONFLICT,
}


@attrs.frozen
class Reads:
    """What the endpoints read; `unix_s` is wall time."""

    state: ConfigState
    guards: Guards
    unix_s: Callable[[], float]


def routes(reads: Reads) -> tuple[Route, ...]:
    guards = reads.guards
    may_export = all_of(guards.may("export"), guards.has_registry)
    may_read = all_of(guards.may("read"), guards.has_registry)
    return (
        Route("GET", "/healthz", healthz),
        Route("GET", "/readyz", partial(readyz, reads)),
        Route("GET", "/v1/configs/epoch", partial(epoch, reads), guards.may("read")),
        Route("GET", "/v1/configs/export", partial(export_all, reads), may_export),
        Route("GET", "/v1/configs/bundles", partial(bundles, reads), may_read),
        Route("GET", "/v1/configs/bundles/{bundle_id}", partial(bundle, reads), may_read),
        Route("GET", "/v1/configs/models", partial(models, reads), may_read),
        Route("GET", "/v1/configs/models/{model_id*}", partial(model, reads), may_read),
        Route("POST", "/v1/configs/resolve", partial(resolve_spec, reads), may_read),
    )


async def healthz(_: Request) -> Reply:
    return json_reply({"status": "ok"})


async def readyz(reads: Reads, _: Request) -> Reply:
    if reads.state.current is None:
        return json_reply({"detail": "Model registry not loaded"}, status=503)
    return json_reply({"status": "ready"})


async def epoch(reads: Reads, _: Request) -> Reply:
    """Answers without a registry too, so that a poller can tell that we are up (§11)."""
    held = reads.state.current
    snapshot = held.catalog.snapshot if held is not None else RegistrySnapshot.empty()
    return json_reply(to_json(export.epoch_reply(reads.state.epoch, snapshot)))


async def export_all(reads: Reads, _: Request) -> Streamed:
    """Models and epoch are of one moment, whatever is written while they are sent."""
    held = current(reads.state)
    generated_at = datetime.fromtimestamp(reads.unix_s(), UTC).isoformat()
    chunks = export.export_chunks(held.epoch, held.catalog, generated_at=generated_at)
    return Streamed(200, chunks, JSON_TYPE, (("Content-Length", str(sum(map(len, chunks)))),))


async def bundles(reads: Reads, _: Request) -> Reply:
    return json_reply(to_json(export.bundles_reply(current(reads.state).catalog.snapshot)))


async def bundle(reads: Reads, request: Request) -> Reply:
    wanted = request.params["bundle_id"]
    found = {str(name): value for name, value in current(reads.state).catalog.snapshot.bundles.items()}.get(wanted)
    if found is None:
        extra = {"bundle_id": wanted}
        return Refusal(ErrorCode.CONFIG_BUNDLE_NOT_FOUND, f"Bundle not found: {wanted}", extra).reply()
    return yaml_reply(dump_yaml(export.bundle_document(found), sort_keys=True))


async def models(reads: Reads, _: Request) -> Reply:
    return json_reply(to_json(export.models_reply(current(reads.state).catalog)))


async def model(reads: Reads, request: Request) -> Reply:
    """The text as it was written; a `model:profile`, or another spelling, has none, so one is made."""
    wanted, catalog = request.params["model_id"], current(reads.state).catalog
    if wanted.rstrip(":").endswith("/status"):  # the gateway's readiness view, which we have not (§5)
        return _model_not_found(wanted)
    base, colon, _ = wanted.partition(":")
    try:
        stored = catalog.models.get(ids.model_id(base))
    except ids.InvalidId as error:
        return invalid_model_id(error)
    if stored is not None and not colon:
        return yaml_reply(stored.text)
    name = catalog.snapshot.find(wanted)
    is_spelt_otherwise = not colon and catalog.snapshot.twin_of(ids.ModelId(wanted)) is not None
    if name is None and not is_spelt_otherwise:
        return _model_not_found(wanted)
    return yaml_reply(dump_yaml(export.variant_document(name, wanted), sort_keys=True))


async def resolve_spec(reads: Reads, request: Request) -> Reply:
    try:
        asked = read_body(request.body, "json")
    except WireError as error:
        return Refusal(ErrorCode.CONFIG_PARSE_ERROR, str(error)).reply()
    found = resolve(current(reads.state).catalog.snapshot, asked)
    if isinstance(found, Resolved):
        return json_reply(attrs.asdict(found))
    return Refusal(_RESOLVE_CODES[found.fault], found.words, found.extra).reply()


def _model_not_found(wanted: str) -> Reply:
    return Refusal(ErrorCode.CONFIG_MODEL_NOT_FOUND, f"Model not found: {wanted}", {"model_id": wanted}).reply()
