"""What a checkpoint says of its own use, in the files that sentence-transformers puts beside the weights."""

import json
from collections.abc import Mapping
from pathlib import Path

from sie.adapters.sources.files import POOLING_FILE, QUERY_WEIGHTS
from sie.adapters.tasks.options import refused

_POOLINGS: Mapping[str, str] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_MODE = "pooling_mode_"


def published_pooling(folder: Path) -> str | None:
    """None where nothing is said. Raises LoadFailed(CONFIG) for a pooling that is not implemented."""
    path = folder / POOLING_FILE
    if not path.is_file():
        return None
    try:
        fields = json.loads(path.read_bytes())
    except ValueError as error:
        raise refused(f"{POOLING_FILE}: not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise refused(f"{POOLING_FILE}: not a JSON object")
    modes = [name for name, on in fields.items() if name.startswith(_MODE) and on is True]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        known = ", ".join(_POOLINGS)
        raise refused(f"{POOLING_FILE}: the pooling is by {' and '.join(modes) or 'nothing'}; implemented are {known}")
    return _POOLINGS[modes[0]]


def check_queries_are_inferred(folder: Path) -> None:
    """Raises LoadFailed(CONFIG) where queries are not for the network, but have a weight for each word in a table."""
    for name in QUERY_WEIGHTS:
        if (folder / name).is_file():
            raise refused(f"{name}: queries with weights from a table are not implemented")
