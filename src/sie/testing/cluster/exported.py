"""One export as its reader got it: the epoch that it tells, and each model's document with where it came from."""

import json
from collections.abc import Mapping

import attrs

from sie.testing.cluster.catalogue import lane_hash, profiles_of


@attrs.frozen
class Exported:
    """`documents` and `overlay` are by model; `overlay` are those that were written through the API."""

    epoch: int
    documents: Mapping[str, str]
    overlay: Mapping[str, str]

    @property
    def lane_hash(self) -> str:
        return lane_hash(frozenset(self.documents.values()))

    @property
    def profiles(self) -> Mapping[str, frozenset[str]]:
        return profiles_of(self.documents.values())


def read_exported(body: bytes) -> Exported:
    told = json.loads(body)
    rows = [(row["model_id"], row["raw_yaml"], row["source"]) for row in told["models"]]
    return Exported(
        told["epoch"],
        {model: text for model, text, _ in rows},
        {model: text for model, text, source in rows if source == "api"},
    )


NOTHING = Exported(0, {}, {})
"""What has been read before anything was."""
