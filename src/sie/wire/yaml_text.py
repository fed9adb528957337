"""A JSON value as the YAML text that people read and every peer parses back to the same value (wire-facts 3.3)."""

from collections.abc import Mapping

import yaml

from sie.domain.model import Json


class _Dumper(yaml.CSafeDumper):
    """Without anchors: a value that stands in two places is written twice, since readers here take no aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the dumper's own name for it
        return True


def dump_yaml(value: Mapping[str, Json], *, sort_keys: bool = False) -> str:
    """Block style; keys in their own order unless they are to be sorted."""
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=False, sort_keys=sort_keys, allow_unicode=True)
    return text
