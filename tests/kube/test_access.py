"""Where the API server is and who we are to it: service accounts and kubeconfigs, whole or broken."""

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest
import trustme
import yaml

from sie.kube.access import Access, NoAccess, find_access, kubeconfig_access, tls_context

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(
    folder: Path, user: Mapping[str, object], cluster: Mapping[str, object] | None = None, **context: str
) -> Path:
    document = {
        "current-context": "here",
        "contexts": [
            {"name": "there", "context": {"cluster": "b", "user": "u"}},
            {"name": "here", "context": {"cluster": "a", "user": "u", **context}},
        ],
        "clusters": [{"name": "a", "cluster": {"server": "https://kube:6443/prefix/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return path


def service_account(folder: Path) -> Path:
    for name, text in (("token", "t\n"), ("namespace", "serving\n"), ("ca.crt", "PEM")):
        (folder / name).write_text(text)
    return folder


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    folder = service_account(tmp_path)
    environ = {**POD, "KUBECONFIG": "elsewhere"}
    assert find_access(environ, service_account=folder) == Access(
        "https://10.0.0.1:6443", "serving", token_file=folder / "token", ca_pem="PEM"
    )


def test_an_address_of_version_six_stands_in_brackets(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert find_access(environ, service_account=service_account(tmp_path)).server == "https://[fd00::1]:443"


def test_a_pod_without_its_folder_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(NoAccess, match="namespace"):
        find_access(POD, service_account=tmp_path)


def test_a_kubeconfig_is_the_second_source(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "t"}, {"insecure-skip-tls-verify": True}, namespace="team")
    expected = Access("https://kube:6443/prefix", "team", token="t", insecure=True)
    assert find_access({"KUBECONFIG": f"{tmp_path}/missing:{path}"}) == expected
    home = tmp_path / "home" / ".kube"
    home.mkdir(parents=True)
    path.rename(home / "config")
    assert find_access({"HOME": str(home.parent)}) == expected


def test_nothing_at_all_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NoAccess, match=r"KUBERNETES_SERVICE_HOST is not set.*config"):
        find_access({"HOME": str(tmp_path)})


def test_certificates_are_read_inline_or_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / "key.pem").write_text("KEY")
    user = {"client-certificate-data": encoded("CERT"), "client-key": "key.pem", "tokenFile": "token"}
    access = kubeconfig_access(kubeconfig(tmp_path, user, {"certificate-authority": "ca.pem"}))
    assert (access.ca_pem, access.client_certificate_pem, access.client_key_pem) == ("CA", "CERT", "KEY")
    assert access.token_file == tmp_path / "token"


@pytest.mark.parametrize(
    ("user", "cluster", "told"),
    [
        ({"exec": {"command": "aws"}}, {}, "exec: is not supported"),
        ({"auth-provider": {"name": "gcp"}}, {}, "auth-provider: is not supported"),
        ({}, {"server": "kube:6443"}, "must begin with http"),
        ({}, {"server": 5}, "must be a string"),
        ({"client-key-data": "%%%"}, {}, "kubeconfig"),
        ({"client-key": "missing.pem"}, {}, "missing.pem"),
    ],
)
def test_what_cannot_be_used_is_said(
    tmp_path: Path, user: Mapping[str, object], cluster: Mapping[str, object], told: str
) -> None:
    with pytest.raises(NoAccess, match=told):
        kubeconfig_access(kubeconfig(tmp_path, user, cluster))


@pytest.mark.parametrize("text", ["", "a: [", "[]", "contexts: 5", "current-context: x", "\x00", "contexts: [5]"])
def test_nonsense_is_no_access(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(NoAccess):
        kubeconfig_access(path)


@pytest.mark.parametrize(
    "access",
    [
        Access("https://kube", ca_pem="no certificate"),
        Access("https://kube", client_certificate_pem="no certificate", client_key_pem="no key"),
    ],
)
def test_what_is_no_certificate_is_said(access: Access) -> None:
    with pytest.raises(NoAccess, match="TLS credentials"):
        tls_context(access)


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    authority = trustme.CA()
    key = authority.private_key_pem.bytes().decode()
    shown = repr(Access("https://kube", token="secret", client_key_pem=key))
    assert "secret" not in shown
    assert "PRIVATE" not in shown
