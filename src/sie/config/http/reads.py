"""The config service's read endpoints (§14, wire-facts 3.2): each a function of the catalogue and the epoch."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

import attrs

from sie.config.core import export
from sie.config.core.catalog import Catalog
from sie.config.store import Epoch
from sie.domain import ids
from sie.domain.errors import ErrorCode
from sie.domain.registry import RegistrySnapshot
from sie.web.bodies import Refusal, json_reply, text_reply, to_yaml, yaml_reply
from sie.web.routes import Headers, Reply, Request, Route
from sie.wire.configs_api import to_json


@attrs.frozen
class Reads:
    """What the endpoints read; `unix_s` is wall time."""

    catalog: Catalog
    epoch: Epoch
    unix_s: Callable[[], float]


def routes(reads: Reads) -> tuple[Route, ...]:
    return (
        Route("GET", "/healthz", healthz),
        Route("GET", "/readyz", readyz),
        Route("GET", "/v1/configs/epoch", partial(epoch, reads)),
        Route("GET", "/v1/configs/export", partial(export_all, reads)),
        Route("GET", "/v1/configs/bundles", partial(bundles, reads)),
        Route("GET", "/v1/configs/bundles/{bundle_id}", partial(bundle, reads)),
        Route("GET", "/v1/configs/models", partial(models, reads)),
        Route("GET", "/v1/configs/models/{model_id*}", partial(model, reads)),
    )


async def healthz(_: Request) -> Reply:
    return json_reply({"status": "ok"})


async def readyz(_: Request) -> Reply:
    return json_reply({"status": "ready"})


async def epoch(reads: Reads, _: Request) -> Reply:
    snapshot = reads.catalog.snapshot if reads.epoch.trusted else RegistrySnapshot.empty()
    return json_reply(to_json(export.epoch_reply(reads.epoch.value, snapshot)))


async def export_all(reads: Reads, _: Request) -> Reply:
    generated_at = datetime.fromtimestamp(reads.unix_s(), UTC).isoformat()
    return json_reply(to_json(export.export_reply(reads.epoch.value, reads.catalog, generated_at=generated_at)))


async def bundles(reads: Reads, _: Request) -> Reply:
    return json_reply(to_json(export.bundles_reply(reads.catalog.snapshot)))


async def bundle(reads: Reads, request: Request) -> Reply:
    wanted = request.params["bundle_id"]
    found = {str(name): value for name, value in reads.catalog.snapshot.bundles.items()}.get(wanted)
    if found is None:
        extra = {"bundle_id": wanted}
        return Refusal(ErrorCode.CONFIG_BUNDLE_NOT_FOUND, f"Bundle not found: {wanted}", extra).reply()
    return yaml_reply(to_yaml(export.bundle_document(found)))


async def models(reads: Reads, _: Request) -> Reply:
    return json_reply(to_json(export.models_reply(reads.catalog)))


async def model(reads: Reads, request: Request) -> Reply:
    """The text as it was written; a `model:profile` has none, so one is made."""
    wanted = request.params["model_id"]
    base, _, variant = wanted.partition(":")
    try:
        stored = reads.catalog.models.get(ids.model_id(base))
    except ids.InvalidId as error:
        return Refusal(ErrorCode.CONFIG_INVALID_MODEL_ID, str(error), {"model_id": wanted}).reply()
    name = reads.catalog.snapshot.find(wanted)
    if variant and name is not None:
        return yaml_reply(to_yaml(export.variant_document(name)))
    if variant or stored is None:
        return Refusal(ErrorCode.CONFIG_MODEL_NOT_FOUND, f"Model not found: {wanted}", {"model_id": wanted}).reply()
    return yaml_reply(stored.text)


def not_found(_: Request) -> Reply:
    return _plain(404, "Not Found")


def method_not_allowed(_: Request, headers: Headers) -> Reply:
    return attrs.evolve(_plain(405, "Method Not Allowed"), headers=headers)


def internal_error(_: Request) -> Reply:
    return text_reply("Internal Server Error", status=500)


def too_large(_: Request, max_bytes: int) -> Reply:
    return _plain(413, f"The body must be at most {max_bytes} bytes")


def _plain(status: int, detail: str) -> Reply:
    """The words of the framework itself stand as a string (wire-facts 3.2)."""
    body: Mapping[str, object] = {"detail": detail}
    return json_reply(body, status=status)
