"""The gateway's own view of the configuration (§5, §6), to be read: what changes it is the config service's alone."""

from collections.abc import Mapping
from functools import partial

import attrs

from sie.domain.errors import ErrorCode
from sie.domain.resolving import Fault, Resolved, resolve
from sie.gateway.core import configs
from sie.gateway.core.readiness import readiness_document, readiness_of
from sie.gateway.http.services import Services
from sie.web.bodies import json_reply, read_body, request_format, yaml_reply
from sie.web.errors import Refusal
from sie.web.routes import Reply, Request, Route
from sie.wire.converters import WireError
from sie.wire.yaml_text import dump_yaml

_RESOLVE_CODES: Mapping[Fault, ErrorCode] = {
    "body": ErrorCode.INVALID_REQUEST,
    "field": ErrorCode.INVALID_REQUEST,
    "spec": ErrorCode.INVALID_REQUEST,
    "model": ErrorCode.MODEL_NOT_FOUND,
    "bundle": ErrorCode.BUNDLE_CONFLICT,
}


def routes(services: Services) -> tuple[Route, ...]:
    return (
        Route("GET", "/v1/configs/models", partial(models, services)),
        Route("GET", "/v1/configs/models/{model*}", partial(model, services)),
        Route("GET", "/v1/configs/bundles", partial(bundles, services)),
        Route("GET", "/v1/configs/bundles/{bundle}", partial(bundle, services)),
        Route("POST", "/v1/configs/resolve", partial(resolve_spec, services)),
    )


async def models(services: Services, _: Request) -> Reply:
    return json_reply({"models": configs.model_rows(services.registry.snapshot)})


async def model(services: Services, request: Request) -> Reply:
    """A document, or the readiness of a model where its id is followed by `/status`."""
    snapshot, wanted = services.registry.snapshot, request.params["model"]
    asked = configs.asks_for_status(snapshot, wanted)
    if asked is not None:
        readiness = readiness_of(snapshot, asked.model, asked.bundles, services.workers())
        return json_reply(readiness_document(asked.name, services.replica.reading.epoch, readiness))
    named = configs.find_named(snapshot, wanted)
    if named is None:
        return Refusal(ErrorCode.MODEL_NOT_FOUND, f"Model not found: {wanted}", {"model": wanted}).reply()
    return yaml_reply(dump_yaml(configs.model_document(named)))


async def bundles(services: Services, _: Request) -> Reply:
    return json_reply({"bundles": configs.bundle_rows(services.registry.snapshot, services.workers())})


async def bundle(services: Services, request: Request) -> Reply:
    wanted = request.params["bundle"]
    found = {str(name): value for name, value in services.registry.snapshot.bundles.items()}.get(wanted)
    if found is None:
        return Refusal(ErrorCode.BUNDLE_NOT_FOUND, f"Bundle not found: {wanted}", {"bundle": wanted}).reply()
    return yaml_reply(dump_yaml(configs.bundle_document(found)))


async def resolve_spec(services: Services, request: Request) -> Reply:
    try:
        asked = read_body(request.body, request_format(request.headers))
    except WireError as error:
        return Refusal(ErrorCode.INVALID_REQUEST, str(error)).reply()
    found = resolve(services.registry.snapshot, asked)
    if isinstance(found, Resolved):
        return json_reply(attrs.asdict(found))
    return Refusal(_RESOLVE_CODES[found.fault], found.words, found.extra).reply()
