"""Is a replica behind the authority, ahead of it, or equal to it, and what does a delta change (§4)? One copy of the
rules for gateway and worker; whoever reads the epoch and hears the deltas acts on the answers.

An epoch advances only with the snapshot that it belongs to: a delta's answer holds both.
"""

from typing import assert_never

import attrs

from sie.domain.bundle_hash import BundleHash
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot


@attrs.frozen
class Reading:
    """An epoch with its two fingerprints; None is a fingerprint that is not known (§4.2)."""

    epoch: int = 0
    bundles_hash: BundleHash | None = None
    bundle_config_hashes_hash: BundleHash | None = None


@attrs.frozen
class InSync:
    pass


@attrs.frozen
class CatchUp:
    """Fetch everything again; `because` names the signals that differ."""

    because: tuple[str, ...]


@attrs.frozen
class StepBack:
    """The local epoch has run ahead of the authority: fetch everything again, and only then adopt the lower one."""

    to: int


def decide_poll(local: Reading, remote: Reading) -> InSync | CatchUp | StepBack:
    """The table of §4.2. A fingerprint that the authority does not know says nothing; the epoch still counts."""
    if remote.epoch < local.epoch:
        return StepBack(remote.epoch)
    pairs = (
        ("epoch", remote.epoch, local.epoch),
        ("bundles_hash", remote.bundles_hash, local.bundles_hash),
        ("bundle_config_hashes_hash", remote.bundle_config_hashes_hash, local.bundle_config_hashes_hash),
    )
    differing = tuple(name for name, theirs, ours in pairs if theirs is not None and theirs != ours)
    return CatchUp(differing) if differing else InSync()


@attrs.frozen
class Trust:
    """Whose deltas count (§4.3): a producer of one of these names, or a pod of a workload of that name."""

    producers: tuple[str, ...] = ("sie-config",)
    anyone: bool = False

    def trusts(self, producer: str) -> bool:
        return self.anyone or any(producer == name or producer.startswith(f"{name}-") for name in self.producers)


@attrs.frozen
class Delta:
    """`model` is None for one that only moves the epoch. `bundle_hash` is the authority's after the write, if told."""

    producer: str
    epoch: int
    model: Model | None
    bundle: str = ""
    bundle_hash: BundleHash | None = None


@attrs.frozen
class Ignored:
    """Nothing changes, and nothing is wrong with what we hold."""

    reason: str


@attrs.frozen
class Refused:
    """It cannot be applied to what we hold: only the export can tell what is right, so ask for it now."""

    reason: str


@attrs.frozen
class Accepted:
    """`doubt`, where there is one, says why the export should be asked for at once, though the delta was taken."""

    snapshot: RegistrySnapshot
    epoch: int
    doubt: str | None = None


@attrs.frozen
class Standing:
    """What a replica holds: `exported` is the epoch of the last export in it, 0 before the first."""

    snapshot: RegistrySnapshot
    epoch: int
    exported: int


def judge_delta(standing: Standing, delta: Delta, trust: Trust) -> Ignored | Refused | Accepted:
    """§4.3, in its order: trust first, then what it says."""
    if not trust.trusts(delta.producer):
        return Ignored(f"the producer {delta.producer!r} is not trusted")
    if 0 < delta.epoch <= standing.exported:
        return Ignored(f"epoch {delta.epoch} is in the export of epoch {standing.exported}")
    if delta.model is None:
        doubt = "a write without a document" if delta.epoch > standing.epoch else None
        return Accepted(standing.snapshot, max(standing.epoch, delta.epoch), doubt)
    applied = apply_append(standing.snapshot, delta.model)
    match applied:
        case Refused():
            return applied
        case RegistrySnapshot():
            epoch = max(standing.epoch, delta.epoch)
            return Accepted(applied, epoch, _doubt(standing, delta, applied))
        case other:
            assert_never(other)


def apply_append(snapshot: RegistrySnapshot, model: Model) -> RegistrySnapshot | Refused:
    """The model with its new profiles; what stands may not differ, since a delta only appends (§3)."""
    held = snapshot.models.get(model.sie_id)
    if held is not None:
        again = (name for name in held.profiles if name in model.profiles)
        changed = sorted(name for name in again if held.profiles[name] != model.profiles[name])
        if changed or held.pool != model.pool or held.hf_revision != model.hf_revision:
            what = f"profile(s) {changed}" if changed else "pool or revision"
            return Refused(f"{what} of {model.sie_id} stand with another content")
        model = attrs.evolve(model, profiles={**held.profiles, **model.profiles})
    if not snapshot.bundles_of(model):
        return Refused(f"no bundle runs {model.sie_id}")
    return snapshot.with_model(model)


def _doubt(standing: Standing, delta: Delta, applied: RegistrySnapshot) -> str | None:
    if delta.epoch > standing.epoch + 1:
        return f"epochs {standing.epoch + 1} to {delta.epoch - 1} were not heard of"
    ours = {str(name): value for name, value in applied.hashes.items()}
    if delta.epoch > standing.epoch and delta.bundle_hash is not None and ours.get(delta.bundle) != delta.bundle_hash:
        return f"bundle {delta.bundle!r} hashes otherwise here"
    return None
