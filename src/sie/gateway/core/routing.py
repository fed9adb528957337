"""Where a request goes (§2, §16.1): from the name it asks for, the registry and the fleet to a lane, or to why not."""

from collections.abc import Iterable
from typing import TypeAlias

import attrs

from sie.domain.bundle_hash import BundleHash
from sie.domain.ids import DEFAULT_MACHINE_PROFILE, ProfileName
from sie.domain.lane import Lane
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus


@attrs.frozen
class Routed:
    """`config_hash` is what the worker must hold when it takes the work."""

    model: Model
    profile: ProfileName
    lane: Lane
    config_hash: BundleHash


@attrs.frozen
class UnknownModel:
    serving_id: str


@attrs.frozen
class Provisioning:
    """The lane is right and no healthy worker with our configuration is on it: try again later (§2)."""

    lane: Lane


Resolution: TypeAlias = Routed | UnknownModel | Provisioning


def resolve(snapshot: RegistrySnapshot, taking_work: Iterable[WorkerStatus], serving_id: str) -> Resolution:
    """The best bundle by priority; among its workers only those whose hash is ours count (§7)."""
    name = snapshot.find(serving_id)
    if name is None:
        return UnknownModel(serving_id)
    lane = Lane(name.model.pool, DEFAULT_MACHINE_PROFILE, name.bundles[0])
    config_hash = snapshot.scoped_hash(lane.bundle, lane.pool)
    if config_hash is None or not any(serves(status, lane, config_hash) for status in taking_work):
        return Provisioning(lane)
    return Routed(name.model, name.profile, lane, config_hash)


def serves(status: WorkerStatus, lane: Lane, config_hash: BundleHash) -> bool:
    return status.lane == lane and status.bundle_config_hash == config_hash
