"""How can a store on GCS be tried without GCS? A server of the few requests that obstore makes, over a dictionary.

Written after the XML API's documents: a PUT with `x-goog-if-generation-match` (0: there must be no object), GET, DELETE
and a listing. What it proves is that our side asks for the right thing; the real service was never asked.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import attrs

CONDITION = "x-goog-if-generation-match"


@attrs.frozen
class _Object:
    data: bytes
    generation: int


@attrs.define
class GcsDouble:
    """`failing`: answers to come before any that is right, one status a request; None: it acts and then hangs up."""

    url: str = ""
    objects: dict[str, _Object] = attrs.field(factory=dict)
    failing: list[int | None] = attrs.field(factory=list)
    requests: list[str] = attrs.field(factory=list)
    _generation: int = 0
    _turn: Lock = attrs.field(factory=Lock)

    def service_account_key(self) -> str:
        """What GOOGLE_SERVICE_ACCOUNT_KEY must hold so that a client asks this server, without a token."""
        key = {"gcs_base_url": self.url, "disable_oauth": True}
        return json.dumps(key | {"client_email": "", "private_key": "", "private_key_id": ""})

    def put(self, path: str, data: bytes, condition: str | None) -> _Object | None:
        """None where the condition does not hold."""
        with self._turn:
            present = self.objects.get(path)
            if condition is not None and int(condition) != (present.generation if present else 0):
                return None
            self._generation += 1
            self.objects[path] = _Object(data, self._generation)
            return self.objects[path]

    def delete(self, path: str) -> bool:
        with self._turn:
            return self.objects.pop(path, None) is not None

    def listing(self, bucket: str, prefix: str, delimiter: str) -> bytes:
        keys = [path.removeprefix(f"/{bucket}/") for path in sorted(self.objects) if path.startswith(f"/{bucket}/")]
        inside = [key for key in keys if key.startswith(prefix)]
        direct = [key for key in inside if not delimiter or delimiter not in key[len(prefix) :]]
        entries = "".join(self._entry(bucket, key) for key in direct)
        return f'<?xml version="1.0"?><ListBucketResult><Name>{bucket}</Name>{entries}</ListBucketResult>'.encode()

    def _entry(self, bucket: str, key: str) -> str:
        found = self.objects[f"/{bucket}/{key}"]
        return (
            f"<Contents><Key>{escape(key)}</Key><Size>{len(found.data)}</Size><ETag>{found.generation}</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        )


@contextmanager
def open_gcs_double() -> Iterator[GcsDouble]:
    """Serves on a free loopback port for as long as the block."""
    double = GcsDouble()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(double))
    double.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(double: GcsDouble) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"double": double})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double: GcsDouble

    def do_GET(self) -> None:
        target = urlsplit(self.path)
        path, query = unquote(target.path), parse_qs(target.query)
        found = self.double.objects.get(path)
        if self._fails():
            return
        if "prefix" in query or "list-type" in query:
            wanted = (query.get(key, [""])[0] for key in ("prefix", "delimiter"))
            self._answer(200, self.double.listing(path.strip("/"), *wanted))
        elif found is None:
            self._answer(404, b"")
        else:
            self._answer(200, found.data, found)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        acts = not self.double.failing or self.double.failing[0] is None
        done = self.double.put(unquote(urlsplit(self.path).path), data, self.headers.get(CONDITION)) if acts else None
        if not self._fails():
            self._answer(200 if done else 412, b"", done)

    def do_DELETE(self) -> None:
        acts = not self.double.failing or self.double.failing[0] is None
        done = acts and self.double.delete(unquote(urlsplit(self.path).path))
        if not self._fails():
            self._answer(204 if done else 404, b"")

    def _fails(self) -> bool:
        self.double.requests.append(f"{self.command} {self.path}")
        if not self.double.failing:
            return False
        status = self.double.failing.pop(0)
        self.close_connection = True
        if status is not None:
            self._answer(status, b"")
        return True

    def _answer(self, status: int, body: bytes, found: _Object | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:  # told, or a client may send its next request on the connection as it ends
            self.send_header("Connection", "close")
        self.send_header("Last-Modified", formatdate(0, usegmt=True))
        if found is not None:
            self.send_header("ETag", f'"{found.generation}"')
            self.send_header("x-goog-generation", str(found.generation))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the parent's)
        pass
