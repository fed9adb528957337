"""A program that plays one service of the system well enough for `sie up`: nats, config, worker or gateway.

`scripted_service.py ROLE PORT`; the worker leaves its name in the file `worker` for the gateway to tell.
"""

import json
import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import FrameType
from typing import NoReturn

LOADED_AFTER_S = 0.3
WORKER = Path("worker")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(answer(self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The log is for what tests look for."""


def answer(path: str) -> object:
    if path == "/v1/models":
        return {"models": [{"name": "m", "loaded": worker_state() == "loaded"}]}
    model = {"name": "m", "state": worker_state(), "activity": "" if worker_state() == "loaded" else "compiling 3/8"}
    workers = [{"name": WORKER.read_text(encoding="utf-8"), "healthy": True, "models": [model]}]
    return {"status": "ok", "workers": workers if WORKER.exists() else []}


def worker_state() -> str:
    return "loaded" if WORKER.exists() and time.time() - WORKER.stat().st_mtime > LOADED_AFTER_S else "loading"


def serve_http(port: int) -> None:
    with HTTPServer(("127.0.0.1", port), Handler) as server:
        server.serve_forever()


def greet(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            connection.sendall(b"INFO {}\r\n")
            connection.close()


def work() -> None:
    written = WORKER.with_suffix(".new")
    written.write_text(os.environ["SIE_WORKER_ID"], encoding="utf-8")
    written.replace(WORKER)
    time.sleep(600)


def end(number: int, _: FrameType | None) -> NoReturn:
    print("told to end", flush=True)
    sys.exit(0)


def main(role: str, port: int) -> None:
    deaf = role == os.environ.get("DEAF")
    signal.signal(signal.SIGTERM, signal.SIG_IGN if deaf else end)
    if role == os.environ.get("BROKEN"):
        sys.exit("this cannot work")
    match role:
        case "nats":
            greet(port)
        case "worker":
            work()
        case _:
            serve_http(port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
