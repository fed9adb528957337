"""The real backend process, but for what it imports early and where its adapters may come from."""

import sys
from pathlib import Path

from sie.backend.__main__ import read_options, serve_worker

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    serve_worker(read_options(), early=(), prefix="tests.backend.")
