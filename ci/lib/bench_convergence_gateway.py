"""The gateway as a process of its own beside a config service and a broker, for benches and system tests."""

import http
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ci.lib.bench_config_service import Service, running_config
from ci.lib.demo_system import NotReady

PRODUCT = ("sie.gateway",)
LOG = "gateway.log"
CAUGHT_UP = "the registry equals the config service"
CAUGHT_UP_WITHIN_S = 60.0
_NOTHING: Mapping[str, str] = {}
_NO_FOLDERS = {"SIE_BUNDLES_DIR": "", "SIE_MODELS_DIR": ""}


@contextmanager
def running_gateway(
    folder: Path, variables: Mapping[str, str] = _NOTHING, *, program: Sequence[str] = PRODUCT
) -> Iterator[Service]:
    """It answers when the block begins, whatever it knows by then; it reads no folders. Raises NotReady."""
    told = {**_NO_FOLDERS, "SIE_LOG_JSON": "true", **variables}
    with running_config(folder, told, program=program, log=LOG) as service:
        yield service


def await_models(gateway: Service, names: Sequence[str]) -> None:
    """Until it knows each of these. Raises NotReady."""
    deadline = time.monotonic() + CAUGHT_UP_WITHIN_S
    with gateway.caller() as caller:
        for name in names:
            while caller.ask("GET", f"/v1/configs/models/{name}").status != http.HTTPStatus.OK:
                if time.monotonic() > deadline:
                    raise NotReady(f"the gateway does not know {name} after {CAUGHT_UP_WITHIN_S:g} s")
                time.sleep(0.1)


def catchings_up(folder: Path) -> list[Mapping[str, object]]:
    """What the gateways of this folder have told of each of theirs, the last one last."""
    lines = (folder / LOG).read_text(encoding="utf-8").splitlines()
    told = (json.loads(line) for line in lines if line.startswith("{"))
    return [line for line in told if line.get("event") == CAUGHT_UP]
