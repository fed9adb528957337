"""The real processes of `ci/simulate --processes --rolling`: those of `sie up` with our bundles, models and workers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import httpx2
import numpy as np
import trio

from ci.lib.demo_model import cache_folder
from ci.lib.demo_system import NotReady
from ci.lib.processes_asking import Ask, body_of
from ci.lib.processes_clients import right_vectors
from ci.lib.processes_cluster import LOOK_S, READY_S, Cluster, planned, without_ours
from ci.lib.processes_http import Connection
from ci.lib.processes_judging import APART, Vectors, least_distance
from ci.lib.processes_models import BUNDLES, LIMIT_BYTES, MODELS, WORKERS, bundle_text, model_text, spellings
from sie.cli.folders import Folders
from sie.cli.plan import Service
from sie.cli.settings import UpSettings

DRAIN_S = 25.0
GRACE_S = 30.0
"""A worker that took longer for its orderly end is killed."""


def plan_rolling(folder: Path, environ: Mapping[str, str]) -> Cluster:
    """As `sie up`, but for its bundles, which are ours, its models, of which there are none, and its three workers."""
    folders, bundles, models = Folders(folder, cache_folder()), folder / "bundles", folder / "models"
    folders.make()
    for documents in (bundles, models):
        documents.mkdir()
    for name in BUNDLES:
        (bundles / f"{name}.yaml").write_text(bundle_text(name), encoding="utf-8")
    common = {
        "SIE_MODEL_MEMORY_BYTES": str(LIMIT_BYTES),
        "SIE_DRAIN_GRACE_S": f"{DRAIN_S:g}",
        "SIE_LOG_JSON": "true",
    }
    workers = {worker: {**common, "SIE_BUNDLE": bundle} for worker, bundle in WORKERS.items()}
    cluster = planned(UpSettings(preload=()), folders, without_ours(environ), workers)
    own = {"SIE_BUNDLES_DIR": str(bundles), "SIE_MODELS_DIR": str(models)}
    services = tuple(_with(service, own) for service in cluster.plan.services)
    return attrs.evolve(cluster, plan=attrs.evolve(cluster.plan, services=services))


def _with(service: Service, config: Mapping[str, str]) -> Service:
    if service.name == "config":
        return attrs.evolve(service, environ={**service.environ, **config})
    return attrs.evolve(service, grace_s=GRACE_S) if service.name in WORKERS else service


async def write_models(cluster: Cluster) -> None:
    """Raises NotReady."""
    async with httpx2.AsyncClient(base_url=cluster.plan.config_url, trust_env=False) as client:
        for model in MODELS:
            answer = await client.post("/v1/configs/models", content=model_text(model))
            if not answer.is_success:
                raise NotReady(f"a model was not taken: {answer.status_code} {answer.text}")


async def all_right_vectors(cluster: Cluster, texts: Sequence[str]) -> Mapping[str, Vectors]:
    """By each spelling of each model. Raises NotReady."""
    by_model: dict[str, Vectors] = {}
    for model in MODELS:
        for spelling in spellings(model):
            await served(cluster, spelling)
        by_model[model] = await right_vectors(cluster.gateway_port, texts, model)
    if least_distance(np.concatenate(tuple(by_model.values()))) < APART:
        raise NotReady("two models have vectors too close to be told apart")
    return {spelling: vectors for model, vectors in by_model.items() for spelling in spellings(model)}


async def served(cluster: Cluster, spelling: str) -> None:
    """Returns once it is answered: what was written has come everywhere. Raises NotReady."""
    ask, answer = Ask(0, "encode", "json", (0,), model=spelling), None
    connection = Connection(cluster.gateway_port)
    with trio.move_on_after(READY_S):
        while answer is None or answer.status != 200:
            await trio.sleep(LOOK_S)
            answer = await connection.post(ask.path, ask.media, body_of(ask, ("a text",)))
        await connection.leave()
        return
    raise NotReady(f"{spelling} was not answered within {READY_S:g} s, but with {answer}")
