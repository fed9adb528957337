"""A real backend process with the scripted adapter, under the real supervisor."""

import os
import sys
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

from sie.wire.ipc import EncodeItem, LoadModel
from sie.worker.children import Child, Report, launch_process, open_child
from tests.backend.scripted_adapter import PATH

MODEL = "acme/small"
LOAD = LoadModel(id=0, serving_id=MODEL, adapter_path=PATH, model_id=MODEL)
ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", str(ROOT / "tests/backend/scripted_child.py"), "--cache-dir", "/nowhere")


def open_real_child(report: Report) -> AbstractAsyncContextManager[Child]:
    return open_child(partial(launch_process, COMMAND), report)


def texts_of(*texts: str) -> tuple[EncodeItem, ...]:
    return tuple(EncodeItem(item={"text": text}) for text in texts)


def is_alive(pid: int) -> bool:
    """Neither gone nor a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def environment() -> dict[str, str]:
    """For a Python that imports `tests`."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
