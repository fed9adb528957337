"""What a simulated cluster serves: a bundle and models as documents on disk, in several editions to change between.

Editions differ in their models, so that their configuration hashes differ.
"""

from collections.abc import Mapping
from pathlib import Path

import attrs

SMALL = "acme/small"
FAST = "acme/small:fast"
OTHER = "acme/other"
EXTRA = "acme/extra"
MISSING = "acme/missing"
EDITIONS: Mapping[int, tuple[str, ...]] = {1: (SMALL, OTHER), 2: (SMALL, OTHER, EXTRA)}
"""The models of each edition."""
SERVED = (SMALL, FAST, OTHER)
"""The serving ids that every edition has."""

_BUNDLE = "name: default\npriority: 10\nadapters: [acme.encoders]\n"
_MODEL = """\
sie_id: {name}
tasks: {{encode: {{dense: {{dim: 2}}}}}}
max_sequence_length: 128
profiles:
  default: {{adapter_path: "acme.encoders:Encoder", max_batch_tokens: 16}}
  fast: {{extends: default, max_batch_tokens: 8}}
"""


@attrs.frozen
class CatalogueFolders:
    """A folder for each edition, written once."""

    root: Path

    @classmethod
    def write(cls, root: Path) -> "CatalogueFolders":
        for edition, names in EDITIONS.items():
            models = root / str(edition) / "models"
            models.mkdir(parents=True)
            (models.parent / "default.yaml").write_text(_BUNDLE, encoding="utf-8")
            for name in names:
                document = models / f"{name.replace('/', '__')}.yaml"
                document.write_text(_MODEL.format(name=name), encoding="utf-8")
        return cls(root)

    def bundles_dir(self, edition: int) -> str:
        return str(self.root / str(edition))
