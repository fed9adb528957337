"""What an operator and a client may ask about the gateway itself (§4, §14): probes, health and the model list."""

from functools import partial

from sie.domain.errors import ErrorCode
from sie.gateway.core.catalogue import model_info, model_infos
from sie.gateway.http.services import Services
from sie.web.bodies import json_reply, text_reply
from sie.web.errors import Refusal
from sie.web.routes import Reply, Request, Route


def routes(services: Services) -> tuple[Route, ...]:
    return (
        Route("GET", "/healthz", ok),
        Route("GET", "/readyz", ok),
        Route("GET", "/health", partial(health, services)),
        Route("GET", "/v1/models", partial(models, services)),
        Route("GET", "/v1/models/{model*}", partial(model, services)),
    )


async def ok(_: Request) -> Reply:
    """The process serves: no worker and no config service is needed for that (§4)."""
    return text_reply("ok")


async def health(services: Services, _: Request) -> Reply:
    return json_reply(services.health())


async def models(services: Services, _: Request) -> Reply:
    return json_reply({"models": model_infos(services.registry.snapshot, services.workers())})


async def model(services: Services, request: Request) -> Reply:
    snapshot = services.registry.snapshot
    name = snapshot.find(request.params["model"])
    if name is None:
        wanted = request.params["model"]
        return Refusal(ErrorCode.MODEL_NOT_FOUND, f"Model not found: {wanted}", {"model": wanted}).reply()
    return json_reply(model_info(snapshot, name, services.workers()))
