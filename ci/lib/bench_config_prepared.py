"""The same server with the same bytes, made beforehand: what the export is measured against (`ci/bench config`).

Run as `python -m ci.lib.bench_config_prepared PORT FILE`: the file is what `GET /prepared` answers, in one piece.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import trio

from sie.config.http.surface import SURFACE
from sie.runtime.service import run_service
from sie.web.bodies import JSON_TYPE
from sie.web.quart import build_quart
from sie.web.routes import Reply, Request, Route
from sie.web.server import serve_hypercorn

PREPARED = "/prepared"


def main(argv: Sequence[str]) -> None:
    port, file = argv
    body = Path(file).read_bytes()

    async def prepared(_: Request) -> Reply:
        return Reply(200, body, JSON_TYPE)

    async def serve(stop: trio.Event) -> None:
        app = build_quart("prepared", [Route("GET", PREPARED, prepared)], SURFACE)
        await serve_hypercorn(app, host="127.0.0.1", port=int(port), stop=stop)

    run_service(serve)


if __name__ == "__main__":
    main(sys.argv[1:])
