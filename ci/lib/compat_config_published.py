"""What is our config service compared with? The published sie-config 0.10.1, in an environment of its own.

It is made once, in a folder under the user's cache: its packages must not meet ours. The wheels ask for a newer Python
and for the SDKs of object stores; neither is needed with a store on the local disk.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from ci.lib.environment import pip_environment

VERSION = "0.10.1"
WHEELS = (f"sie-sdk=={VERSION}", f"sie-config=={VERSION}")
BESIDE = (
    "fastapi<1",
    "jsonschema<5",
    "nats-py<3",
    "opentelemetry-api<2",
    "opentelemetry-sdk<2",
    "opentelemetry-exporter-otlp-proto-grpc<2",
    "opentelemetry-exporter-otlp-proto-http<2",
    "orjson",
    "pyyaml<7",
    "requests",
    "rich<14",
    "typer",
    "uvicorn[standard]<1",
    "uvloop",
    "msgpack<2",
    "msgpack-numpy<1",
    "numpy<3",
    "pillow",
    "httpx<1",
    "aiohttp<4",
    "websockets<15",
)
"""What it needs at run time, as far as its own list can be met here."""


class NotInstalled(Exception):
    """pip could not make the environment; its own words are on stderr."""


def published_program() -> Path:
    """The `sie-config` of the published wheel, installed first if it is not there. Raises NotInstalled."""
    folder = _cache() / "sie-trio" / f"published-{_state()}"
    folder.mkdir(parents=True, exist_ok=True)
    program, complete = folder / "bin" / "sie-config", folder / "complete"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            _install(folder)
            complete.touch()
    return program


def _cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else Path.home() / ".cache"


def _state() -> str:
    """Another list, or another Python, is another environment."""
    return hashlib.sha256(json.dumps([sys.version, WHEELS, BESIDE]).encode()).hexdigest()[:12]


def _install(folder: Path) -> None:
    print("installing the published config service: about a minute", file=sys.stderr)
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet"]
    _run([*pip, "install", *BESIDE])
    wheels = folder / "wheels"
    only_wheels = ("--no-deps", "--python-version", "3.12", "--only-binary=:all:")
    _run([*pip, "download", *only_wheels, "--dest", str(wheels), *WHEELS])
    _run([*pip, "install", "--no-deps", "--ignore-requires-python", *map(str, sorted(wheels.glob("*.whl")))])


def _run(command: list[str]) -> None:
    if subprocess.run(command, env=pip_environment(), check=False).returncode:
        raise NotInstalled(f"`{' '.join(command[:6])} …` failed; its own words are above")
