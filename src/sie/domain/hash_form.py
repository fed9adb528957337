"""In which form do a profile's options enter the hash (§7)? The reference's, or that of the published 0.10 services.

They differ in what they leave out, so every service of a cluster must use one. Both resolve `extends` first.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import reduce
from typing import assert_never

from sie.domain.model import OPTION_PARTS, Json, Profile, resolve


class HashForm(StrEnum):
    """REFERENCE: null if every value is falsy, else whole. SIE_0_10 first drops keys that hold an empty map, at each
    step of `extends` (wire-facts 3.7).
    """

    REFERENCE = "reference"
    SIE_0_10 = "sie-0.10"


def hashed_options(lineage: Sequence[Profile], form: HashForm) -> Json:
    """`lineage` runs from the profile that extends nothing to the one that is hashed."""
    match form:
        case HashForm.REFERENCE:
            return _said(resolve(lineage).written_options)
        case HashForm.SIE_0_10:
            return reduce(_extended, lineage, None)
        case other:
            assert_never(other)


def _said(options: Json) -> Json:
    """Options in which every value is falsy say nothing; what is no map stands as it is."""
    return None if isinstance(options, Mapping) and not any(options.values()) else options


def _extended(parent: Json, child: Profile) -> Json:
    own = child.written_options
    if own is None:
        return _compact(parent)
    if not isinstance(own, Mapping):
        return own
    above = parent if isinstance(parent, Mapping) else {}
    return _compact({**above, **{k: v for k, v in own.items() if k not in OPTION_PARTS or not _is_empty_map(v)}})


def _compact(options: Json) -> Json:
    if not isinstance(options, Mapping):
        return options
    return _said({key: value for key, value in options.items() if not _is_empty_map(value)})


def _is_empty_map(value: Json) -> bool:
    return isinstance(value, Mapping) and not value
