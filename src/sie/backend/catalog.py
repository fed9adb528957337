"""Which models are loaded here? Each adapter is imported by the dotted path of its profile, from one package alone; a
published path stands for one of ours.

Loading blocks and runs in a thread. Everything that can go wrong with it is a LoadFailed in words that name the cause.
"""

import gc
import importlib
import logging
from collections.abc import Callable, Iterable

import attrs

from sie.adapters.api import AdapterFactory, Footprint, LoadedModel, LoadFailed, ModelSpec, Progress
from sie.backend.aliases import resolve_adapter
from sie.backend.host_memory import give_back_memory
from sie.wire.ipc import LoadModel

log = logging.getLogger(__name__)

ADAPTERS = "sie.adapters."
"""A model document may name no other code: it comes from whoever may write models."""


@attrs.define(eq=False)
class Catalog:
    """`prefix` is what the module of an adapter must begin with."""

    cache_dir: str
    prefix: str = ADAPTERS
    _loaded: dict[str, LoadedModel] = attrs.field(factory=dict, init=False)

    def find(self, serving_id: str) -> LoadedModel | None:
        return self._loaded.get(serving_id)

    def load(self, request: LoadModel, report: Callable[[str], None]) -> Footprint:
        """`report` is given the activity in a few words. Raises LoadFailed, and has no model of this name then."""
        report("loading")
        try:
            encoder = self._load(request, report)
        except LoadFailed:
            self.unload(request.serving_id)
            raise
        self._loaded[request.serving_id] = encoder
        return encoder.footprint

    def unload(self, serving_id: str) -> None:
        """Its memory is free when nothing runs on it any more."""
        if self._loaded.pop(serving_id, None) is not None:
            gc.collect()
            give_back_memory()

    def _load(self, request: LoadModel, report: Callable[[str], None]) -> LoadedModel:
        factory = import_adapter(request.adapter_path, self.prefix)
        try:
            return factory.load(
                spec_of(request), cache_dir=self.cache_dir, report=lambda progress: report(activity(progress))
            )
        except LoadFailed:
            raise
        except Exception as error:  # an adapter's own fault: the model cannot be loaded now, the process goes on
            log.exception("an adapter failed to load", extra={"model": request.serving_id})
            message = f"{request.adapter_path} failed: {type(error).__name__}: {error}"
            raise LoadFailed(message, error_class=_class_of(error), permanent=False) from error

    def warm_up(self, serving_id: str) -> None:
        """After the load is told: the model serves meanwhile, only its first requests may be slower."""
        encoder = self._loaded.get(serving_id)
        if encoder is not None:
            encoder.warm_up()


def import_adapter(path: str, prefix: str) -> AdapterFactory:
    """The class that `module:Class` names, or that stands in for it. Raises LoadFailed."""
    module, _, name = resolve_adapter(path).partition(":")
    if not module.startswith(prefix) or not name:
        raise LoadFailed(
            f"adapter {path!r} is not one of ours, nor a published one that has a counterpart here: it must be "
            f"`module:Class` with a module under {prefix!r}",
            error_class="CONFIG",
            permanent=True,
        )
    try:
        factory: AdapterFactory = getattr(importlib.import_module(module), name)
    except Exception as error:  # a module's own import can fail in any way
        raise LoadFailed(
            f"adapter {path!r} cannot be imported: {error}", error_class="DEPENDENCY", permanent=True
        ) from error
    return factory


def import_early(modules: Iterable[str]) -> None:
    """Import what most loads need while nothing else is to do; what fails here fails again, in words, at the load."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # told in full by the load that needs it
            log.warning("an adapter cannot be imported", extra={"adapter": module, "error": str(error)})


def activity(progress: Progress) -> str:
    """`downloading 40%`, `loading`, `compiling 3/8`."""
    if not progress.total:
        return progress.phase
    if progress.phase == "downloading":
        return f"downloading {100 * progress.done // progress.total}%"
    return f"{progress.phase} {progress.done}/{progress.total}"


def spec_of(request: LoadModel) -> ModelSpec:
    return ModelSpec(
        model_id=request.model_id,
        hf_id=request.hf_id,
        hf_revision=request.hf_revision,
        weights_path=request.weights_path,
        max_sequence_length=request.max_sequence_length,
        loadtime=request.loadtime,
        runtime=request.runtime,
        room_bytes=request.room_bytes,
    )


def _class_of(error: Exception) -> str:
    exhausted = isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)
    return "OOM" if exhausted else "UNKNOWN"
