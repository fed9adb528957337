"""What the gateway tells of the configuration that it holds (§5, wire-facts 4.2): lists and documents. Pure."""

from collections.abc import Iterable, Mapping

import attrs

from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, ModelId
from sie.domain.model import Json, Model
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.gateway.core.readiness import SOURCE

STATUS_SUFFIX = "/status"


@attrs.frozen
class Named:
    """A model by one of its names, with the bundles that run what the name stands for, best first."""

    name: str
    model: Model
    bundles: tuple[BundleName, ...]


def find_named(snapshot: RegistrySnapshot, name: str) -> Named | None:
    """A bare id stands for all its profiles, one of no bundle too; `model:profile` for that one."""
    model = snapshot.models.get(ModelId(name))
    if model is None:
        served = snapshot.find(name)
        if served is None:
            return None
        serving_id = served.model.serving_id(served.profile)
        if serving_id != served.model.sie_id:
            return Named(serving_id, served.model, served.bundles)
        model = served.model
    return Named(model.sie_id, model, snapshot.bundles_of(model))


def asks_for_status(snapshot: RegistrySnapshot, path: str) -> Named | None:
    """The model whose readiness `path` asks for: one that is known, before `/status`; else the path is an id (§5)."""
    return find_named(snapshot, path.removesuffix(STATUS_SUFFIX)) if path.endswith(STATUS_SUFFIX) else None


def model_rows(snapshot: RegistrySnapshot) -> list[Mapping[str, object]]:
    """Every name that can be served, sorted: a base id lists all its profiles, a variant itself."""
    rows = {
        (serving_id := name.model.serving_id(name.profile)): sorted(name.model.profiles)
        if serving_id == name.model.sie_id
        else [name.profile]
        for name in snapshot.serving.values()
    }
    return [{"model_id": name, "profiles": rows[name], "source": SOURCE} for name in sorted(rows)]


def model_document(named: Named) -> Mapping[str, Json]:
    return {"sie_id": named.name, "source": SOURCE, "bundles": [str(bundle) for bundle in named.bundles]}


def bundle_rows(snapshot: RegistrySnapshot, workers: Iterable[WorkerStatus]) -> list[Mapping[str, object]]:
    """Best first. `connected_workers` counts those that are heard of, whether they take work or not."""
    lanes = [worker.lane.bundle for worker in workers]
    return [
        {
            "bundle_id": bundle.name,
            "priority": bundle.priority,
            "adapter_count": len(bundle.adapters),
            "source": SOURCE,
            "connected_workers": lanes.count(bundle.name),
        }
        for bundle in snapshot.bundles.values()
    ]


def bundle_document(bundle: Bundle) -> Mapping[str, Json]:
    return {
        "name": bundle.name,
        "priority": bundle.priority,
        "source": SOURCE,
        "adapters": list(bundle.adapters),
    }
