"""What a model's configuration says (wire-facts 3.6): its weights, its tasks and its routable profiles (§1, §16.1)."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Literal, TypeAlias

import attrs

from sie.domain.ids import DEFAULT_POOL, DEFAULT_PROFILE, ModelId, PoolName, ProfileName

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Precision = Literal["float16", "bfloat16", "float32"]
EncodeOutput = Literal["dense", "sparse", "multivector"]

OPTION_PARTS = ("loadtime", "runtime")
"""The two maps of options that a child's replace whole."""
_NO_PROFILES: Mapping[ProfileName, "Profile"] = {}


@attrs.frozen
class Profile:
    """One way to run a model, as written; `Model.effective` resolves `extends`. `options` is the raw map, as hashed.

    `odd_options` stand where a foreign document has something else than a map; only hashes see them.
    """

    adapter_path: str | None = None
    max_batch_tokens: int | None = None
    compute_precision: Precision | None = None
    options: Mapping[str, Json] | None = None
    extends: ProfileName | None = None
    odd_options: Json = None

    @property
    def module(self) -> str | None:
        """The module part of `module:Class`, which bundles list."""
        return self.adapter_path.partition(":")[0] if self.adapter_path else None

    @property
    def written_options(self) -> Json:
        return self.options if self.odd_options is None else self.odd_options


@attrs.frozen
class Model:
    """`encode_dims` holds the width of each output that encode gives; a width of 0 is not known."""

    sie_id: ModelId
    profiles: Mapping[ProfileName, Profile] = _NO_PROFILES
    hf_id: str | None = None
    hf_revision: str | None = None
    weights_path: str | None = None
    pool: PoolName = DEFAULT_POOL
    inputs: tuple[str, ...] = ("text",)
    encode_dims: Mapping[EncodeOutput, int] = attrs.field(factory=dict)
    scores: bool = False
    extracts: bool = False
    max_sequence_length: int | None = None

    def lineage(self, name: ProfileName) -> tuple[Profile, ...] | None:
        """The profile last, before it what it extends and so on; None where one is missing or it goes in a circle."""
        chain: dict[ProfileName, Profile] = {}
        wanted: ProfileName | None = name
        while wanted is not None:
            profile = self.profiles.get(wanted)
            if profile is None or wanted in chain:
                return None
            chain[wanted] = profile
            wanted = profile.extends
        return tuple(reversed(chain.values()))

    def effective(self, name: ProfileName) -> Profile | None:
        """The profile with what it extends filled in; None where it has no lineage."""
        lineage = self.lineage(name)
        return resolve(lineage) if lineage is not None else None

    def serving_id(self, name: ProfileName) -> str:
        """How a request names this profile: the bare id is the default one (§16.1)."""
        return self.sie_id if name == DEFAULT_PROFILE else f"{self.sie_id}:{name}"


def resolve(lineage: Sequence[Profile]) -> Profile:
    """One profile that says what all of them say, the last word winning."""
    return reduce(_inherit, lineage)


def _inherit(parent: Profile, child: Profile) -> Profile:
    """A child's own values win; its `loadtime` and `runtime` replace the parent's whole, unless they are empty."""
    odd = child.odd_options if child.odd_options is not None or child.options is not None else parent.odd_options
    return Profile(
        adapter_path=child.adapter_path or parent.adapter_path,
        max_batch_tokens=parent.max_batch_tokens if child.max_batch_tokens is None else child.max_batch_tokens,
        compute_precision=child.compute_precision or parent.compute_precision,
        options=None if odd is not None else _inherit_options(parent.options, child.options),
        odd_options=odd,
    )


def _inherit_options(parent: Mapping[str, Json] | None, child: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    if not child:
        return parent
    own = {key: value for key, value in child.items() if value or key not in OPTION_PARTS}
    return {**(parent or {}), **own}
