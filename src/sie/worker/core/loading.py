"""Which models may this worker be asked for, and what does the backend need to load one? (§16.1, wire-facts 3.6)"""

from collections.abc import Iterable, Iterator, Mapping

from sie.domain.lane import Lane
from sie.domain.model import Json
from sie.domain.registry import RegistrySnapshot, ServingName
from sie.wire.ipc import LoadModel


def served_names(snapshot: RegistrySnapshot, lane: Lane) -> Mapping[str, ServingName]:
    """By serving id, every name that this lane's workers can be asked for."""
    return {
        name.model.serving_id(name.profile): name
        for name in snapshot.serving.values()
        if lane.bundle in name.bundles and name.model.pool == lane.pool
    }


def canonical_names(snapshot: RegistrySnapshot, names: Iterable[str]) -> tuple[str, ...]:
    """The serving ids that people's spellings mean; a name that is not known stays as it is."""
    found = ((name, snapshot.find(name)) for name in names)
    return tuple(known.model.serving_id(known.profile) if known else name for name, known in found)


def load_request(snapshot: RegistrySnapshot, serving_id: str) -> LoadModel | None:
    """None where the registry no longer holds the name. The id is for whoever sends it to set."""
    name = snapshot.find(serving_id)
    profile = name.model.effective(name.profile) if name else None
    if name is None or profile is None or profile.adapter_path is None:
        return None
    return LoadModel(
        id=0,
        serving_id=name.model.serving_id(name.profile),
        adapter_path=profile.adapter_path,
        model_id=name.model.sie_id,
        hf_id=name.model.hf_id,
        hf_revision=name.model.hf_revision,
        weights_path=name.model.weights_path,
        max_sequence_length=name.model.max_sequence_length,
        loadtime=_options(profile.options, "loadtime"),
        runtime=_options(profile.options, "runtime"),
    )


def batch_budgets(snapshot: RegistrySnapshot) -> Mapping[str, int]:
    """`max_batch_tokens` by serving id, where the profile has one."""
    return dict(_budgets(snapshot))


def _budgets(snapshot: RegistrySnapshot) -> Iterator[tuple[str, int]]:
    for name in snapshot.serving.values():
        profile = name.model.effective(name.profile)
        if profile is not None and profile.max_batch_tokens:
            yield name.model.serving_id(name.profile), profile.max_batch_tokens


def _options(options: Mapping[str, Json] | None, part: str) -> Mapping[str, Json]:
    value = (options or {}).get(part)
    return value if isinstance(value, Mapping) else {}
