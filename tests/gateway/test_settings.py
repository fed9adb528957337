"""The gateway's settings (§13): tokens from the environment or from files, never shown; what was deployed, checked."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from sie.gateway.__main__ import main
from sie.gateway.app import pool_rules_of
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


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"SIE_GATEWAY_CONFIGURED_GPUS": "l4,a.b"}, "SIE_GATEWAY_CONFIGURED_GPUS must be 1 to 63 letters"),
        ({"SIE_GATEWAY_STATIC_QUEUE_POOLS": "_default"}, "SIE_GATEWAY_STATIC_QUEUE_POOLS must be 1 to 63 letters"),
        ({"SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES": "default/l4"}, "must list lanes as pool/profile/bundle, not"),
        ({"SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES": "default//b"}, "profile must be 1 to 63 letters"),
        ({"SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES": "a/b/c,A/b/c"}, "must list each lane once, and lists a/b/c again"),
        (
            {"SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES": ",".join(f"default/p{n}/b" for n in range(1025))},
            "SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES must list at most 1024 lanes, not 1025",
        ),
    ],
)
def test_a_deployment_that_cannot_be_is_refused_at_start(environ: Mapping[str, str], told: str) -> None:
    """The refusal names the variable, and the process says it instead of starting."""
    refused = CliRunner().invoke(main, ["serve"], env={**environ, "SIE_NATS_URL": "nats://127.0.0.1:1"})
    assert refused.exit_code == 2
    assert told in " ".join(refused.output.split())


def test_what_was_deployed_is_read_in_lower_case() -> None:
    environ = {
        "SIE_GATEWAY_CONFIGURED_GPUS": "L4, a100",
        "SIE_GATEWAY_STATIC_QUEUE_POOLS": "Acme",
        "SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES": "Acme/L4/Default",
    }
    rules = pool_rules_of(resolved(environ).settings)
    assert (rules.profiles, rules.queue_pools) == (("a100", "l4"), ("default", "acme"))
    assert [str(lane) for lane in rules.lanes] == ["acme/l4/default"]
