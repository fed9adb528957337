"""Where is the API server, and who are we to it? The pod's service account first, else a kubeconfig (§16.3).

Of a kubeconfig: server, CA, `insecure-skip-tls-verify`, token or token file, client certificate, namespace. What runs a
program to get in (`exec`, `auth-provider`) is refused by name.
"""

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

import attrs
import yaml

from sie.kube.core.fields import as_map, take_text
from sie.kube.core.values import Document
from sie.wire.converters import WireError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
KUBECONFIG = "KUBECONFIG"


class NoAccess(ValueError):
    """Neither a service account nor a usable kubeconfig; the message says what was looked at."""


@attrs.frozen
class Access:
    """`token_file` is read again as it changes; PEM texts are the certificates themselves."""

    server: str
    namespace: str = "default"
    token: str | None = attrs.field(default=None, repr=False)
    token_file: Path | None = None
    ca_pem: str | None = None
    client_certificate_pem: str | None = None
    client_key_pem: str | None = attrs.field(default=None, repr=False)
    insecure: bool = False


def find_access(environ: Mapping[str, str], *, service_account: Path = SERVICE_ACCOUNT) -> Access:
    """Raises NoAccess."""
    if environ.get(HOST):
        return service_account_access(environ, service_account)
    listed = [Path(name) for name in environ.get(KUBECONFIG, "").split(os.pathsep) if name]
    candidates = listed or [Path(environ.get("HOME", "/")) / ".kube" / "config"]
    for path in candidates:
        if path.exists():
            return kubeconfig_access(path)
    raise NoAccess(f"{HOST} is not set, and there is no {' or '.join(map(str, candidates))}")


def service_account_access(environ: Mapping[str, str], folder: Path) -> Access:
    host, port = environ[HOST], environ.get(PORT) or "443"
    authority = f"[{host}]" if ":" in host else host
    return Access(
        f"https://{authority}:{port}",
        namespace=_read(folder / "namespace").strip() or "default",
        token_file=folder / "token",
        ca_pem=_read(folder / "ca.crt"),
    )


def kubeconfig_access(path: Path) -> Access:
    """Its current context. Paths in it are relative to its folder."""
    try:
        document = as_map(yaml.safe_load(_read(path)))
        context = _named(document, "contexts", "context", take_text(dict(document), "current-context"))
        cluster = _named(document, "clusters", "cluster", take_text(dict(context), "cluster"))
        user = _named(document, "users", "user", take_text(dict(context), "user"))
        return _access(path.parent, context, cluster, user)
    except (WireError, yaml.YAMLError, binascii.Error, UnicodeDecodeError) as error:
        raise NoAccess(f"kubeconfig {path}: {error}") from error


def _named(document: Document, many: str, one: str, name: str | None) -> Document:
    """The entry of that name in a kubeconfig's list."""
    entries = document.get(many) or []
    for entry in entries if isinstance(entries, list) else []:
        row = as_map(entry, many)
        if row.get("name") == name and name:
            return as_map(row.get(one) or {}, many, one)
    raise WireError.at(many, message=f"has no {name!r}")


def _access(folder: Path, context: Document, cluster: Document, user: Document) -> Access:
    for program in ("exec", "auth-provider"):
        if user.get(program):
            raise WireError.at("users", program, message="is not supported: use a token or a client certificate")
    server = take_text(dict(cluster), "server")
    if not server or not server.startswith(("http://", "https://")):
        raise WireError.at("clusters", "server", message=f"{server!r} must begin with http:// or https://")
    token_file = take_text(dict(user), "tokenFile")
    return Access(
        server.rstrip("/"),
        namespace=take_text(dict(context), "namespace") or "default",
        token=take_text(dict(user), "token"),
        token_file=folder / token_file if token_file else None,
        ca_pem=_pem(folder, cluster, "certificate-authority"),
        client_certificate_pem=_pem(folder, user, "client-certificate"),
        client_key_pem=_pem(folder, user, "client-key"),
        insecure=cluster.get("insecure-skip-tls-verify") is True,
    )


def _pem(folder: Path, of: Document, key: str) -> str | None:
    """Inline data wins over a path, as for every client of a kubeconfig."""
    if data := take_text(dict(of), f"{key}-data"):
        return base64.b64decode(data, validate=True).decode("ascii")
    name = take_text(dict(of), key)
    return _read(folder / name) if name else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NoAccess(f"{path}: {error}") from error


def tls_context(access: Access) -> ssl.SSLContext:
    """Without a CA the system's are trusted. Raises NoAccess for what is no certificate or key."""
    try:
        context = ssl.create_default_context(cadata=access.ca_pem)
        if access.client_certificate_pem and access.client_key_pem:
            _present(context, access.client_certificate_pem, access.client_key_pem)
    except (ssl.SSLError, ValueError) as error:
        raise NoAccess(f"the TLS credentials for {access.server}: {error}") from error
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _present(context: ssl.SSLContext, certificate_pem: str, key_pem: str) -> None:
    """The library reads files alone; this one is readable by us alone, and is gone at once."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{certificate_pem}\n{key_pem}\n")
        file.flush()
        context.load_cert_chain(file.name)
