"""The gateway's settings (§13): tokens from the environment or from files, never shown."""

from collections.abc import Mapping
from pathlib import Path

from sie.gateway.settings import GatewaySettings
from sie.runtime.settings import Resolved, Sources, resolve


def resolved(environ: Mapping[str, str], **flags: object) -> Resolved[GatewaySettings]:
    return resolve(GatewaySettings, Sources(flags, environ, {}))


def test_tokens_are_a_comma_separated_list(tmp_path: Path) -> None:
    settings = resolved({"SIE_AUTH_TOKENS": "one, two,,three ", "SIE_AUTH_MODE": "token"}).settings
    assert (settings.auth_tokens, settings.auth_mode) == (("one", "two", "three"), "token")


def test_tokens_may_stand_in_files(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("one,two\n")
    (tmp_path / "admin").write_text("secret\n")
    environ = {"SIE_AUTH_TOKENS_FILE": str(tmp_path / "tokens"), "SIE_ADMIN_TOKEN_FILE": str(tmp_path / "admin")}
    settings = resolved(environ).settings
    assert (settings.auth_tokens, settings.admin_token) == (("one", "two"), "secret")


def test_no_token_is_ever_printed() -> None:
    names = ("SIE_AUTH_TOKENS", "SIE_AUTH_TOKEN", "SIE_ADMIN_TOKEN", "SIE_NATS_PASSWORD")
    lines = "\n".join(resolved(dict.fromkeys(names, "hush")).lines())
    assert "hush" not in lines
    assert all(f"{name}=********" in lines for name in names)


def test_an_empty_admin_token_is_none() -> None:
    assert resolved({"SIE_ADMIN_TOKEN": ""}).settings.admin_token is None


def test_workers_are_named_by_flag_one_at_a_time() -> None:
    found = resolved({"SIE_GATEWAY_WORKERS": "http://a:1"}, workers=("http://b:1", "http://c:1"))
    assert found.settings.workers == ("http://b:1", "http://c:1")
    assert resolved({"SIE_GATEWAY_HEALTH_MODE": "ws"}).settings.health_mode == "ws"
