"""What does one model come to among a set of bundles (§7, §16.1)? Worked out once, kept while the model stands.

A registry of thousands shares these from snapshot to snapshot, so that a write pays for one model.
"""

from collections.abc import Mapping

import attrs

from sie.domain.bundle import BundleSet
from sie.domain.bundle_hash import hashed_profiles, model_row, owner_member
from sie.domain.hash_form import HashForm
from sie.domain.ids import BundleName, ProfileName
from sie.domain.model import Model, Profile


@attrs.frozen
class ServingName:
    """One name a request can use: a profile of a model with the bundles that run it, best first."""

    model: Model
    profile: ProfileName
    bundles: tuple[BundleName, ...]


@attrs.frozen
class Registered:
    """`rows` hold the model's text in the hash of each bundle that serves it, best first; `owner` that in the second
    fingerprint; `names` its serving ids in lower case.
    """

    model: Model
    rows: Mapping[BundleName, bytes]
    owner: bytes
    names: Mapping[str, ServingName]

    def is_of(self, model: Model) -> bool:
        """The very same, to the type of each option: Python takes 1, 1.0 and true for one another, a hash does not."""
        return self.model is model or (
            self.model == model
            and all(_spelt(self.model.profiles[name]) == _spelt(own) for name, own in model.profiles.items())
        )


def _spelt(profile: Profile) -> str:
    """With the keys in their own order: one that differs costs a little work and changes nothing."""
    return repr(profile.written_options)


def register(model: Model, bundles: BundleSet, form: HashForm) -> Registered:
    profiles = hashed_profiles(model, form)
    fitting = {profile.name: bundles.running(profile.module) for profile in profiles}
    names = {model.serving_id(name).lower(): ServingName(model, name, runs) for name, runs in fitting.items() if runs}
    rows = {
        bundle: row
        for bundle in bundles.ranked(bundle for runs in fitting.values() for bundle in runs)
        if (row := model_row(model, profiles, bundles.by_name[bundle].adapters)) is not None
    }
    return Registered(model, rows, owner_member(model.sie_id, model.pool), names)
