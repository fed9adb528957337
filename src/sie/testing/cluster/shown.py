"""What a gateway shows of the configuration that it holds, read from its own endpoints."""

import json
from collections.abc import Mapping

import attrs

from sie.testing.cluster.served import AppServer, Call

HEALTH = "/health"
MODELS = "/v1/configs/models"
BUNDLES = "/v1/configs/bundles"


@attrs.frozen
class Shown:
    """`profiles` are by model."""

    epoch: int
    profiles: Mapping[str, frozenset[str]]


async def read_shown(server: AppServer) -> Shown:
    """The epoch after the models: what comes between makes it higher than theirs. Raises ConnectionLost."""
    rows = (await _get(server, MODELS))["models"]
    epoch = (await _get(server, HEALTH))["config_epoch"]
    assert isinstance(epoch, int)
    assert isinstance(rows, list)
    bases = {row["model_id"]: frozenset(row["profiles"]) for row in rows if ":" not in row["model_id"]}
    return Shown(epoch, bases)


async def read_bundles(server: AppServer) -> Mapping[str, int]:
    """The priority of each. Raises ConnectionLost."""
    rows = (await _get(server, BUNDLES))["bundles"]
    assert isinstance(rows, list)
    return {row["bundle_id"]: row["priority"] for row in rows}


async def read_scopes(server: AppServer, model: str) -> Mapping[tuple[str, str], str]:
    """The hash that workers of each bundle and pool of a model must report. Raises ConnectionLost."""
    rows = (await _get(server, f"{MODELS}/{model}/status"))["bundles"]
    assert isinstance(rows, list)
    return {(row["bundle_id"], row["pool"]): row["expected_bundle_config_hash"] for row in rows}


async def _get(server: AppServer, path: str) -> Mapping[str, object]:
    body: object = json.loads((await server.request(Call("GET", path))).body)
    assert isinstance(body, dict)
    return body
