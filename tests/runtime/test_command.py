"""The command line of a service: flags, files, `--print-config`, `version`, and errors that end with 2."""

from pathlib import Path

import attrs
import click
import pytest
from click.testing import CliRunner, Result

from sie import __version__
from sie.runtime.command import CONFIG_VARIABLE, service_group
from sie.runtime.settings import setting


@attrs.frozen
class Example:
    host: str = setting("0.0.0.0", env="SIE_GATEWAY_HOST", flags=("--host",), help="An address")
    port: int = setting(8080, env="SIE_GATEWAY_PORT", flags=("-p", "--port"), help="A port")
    token: str | None = setting(None, env="SIE_ADMIN_TOKEN", secret=True, help="A secret")
    preload: tuple[str, ...] = setting((), env="SIE_PRELOAD", flags=("--preload",), help="Models")
    as_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="Log JSON")


@attrs.define
class Command:
    """The group under test, with what it served."""

    served: list[Example] = attrs.field(factory=list)

    def __call__(self, *arguments: str, **environ: str) -> Result:
        group: click.Group = service_group("sie-example", Example, self.served.append, summary="An example.")
        return CliRunner(env=environ).invoke(group, arguments)


@pytest.fixture
def command() -> Command:
    return Command()


def test_serve_resolves_the_settings_and_serves_them(command: Command) -> None:
    result = command("serve", "--host", "::1", "-p", "0", "--json-logs", SIE_ADMIN_TOKEN="s3cret")
    assert result.exit_code == 0
    assert command.served == [Example("::1", 0, "s3cret", (), True)]


def test_a_flag_beats_the_environment(command: Command) -> None:
    command("serve", "--port", "1", SIE_GATEWAY_PORT="2")
    command("serve", SIE_GATEWAY_PORT="2")
    assert [settings.port for settings in command.served] == [1, 2]


@pytest.mark.parametrize("flags", [("--preload", "a/b", "--preload", "c/d"), ("--preload", "a/b,c/d")])
def test_a_list_may_be_given_word_by_word_or_with_commas(command: Command, flags: tuple[str, ...]) -> None:
    assert command("serve", *flags, SIE_PRELOAD="e/f").exit_code == 0
    assert command.served == [Example(preload=("a/b", "c/d"))]


def test_a_settings_file_is_named_by_a_flag_or_by_its_variable(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "sie.yaml"
    path.write_text("SIE_GATEWAY_PORT: 7\n")
    assert command("serve", "--config", str(path)).exit_code == 0
    assert command("serve", **{CONFIG_VARIABLE: str(path)}).exit_code == 0
    assert [settings.port for settings in command.served] == [7, 7]


def test_print_config_prints_each_setting_with_its_origin_and_serves_nothing(command: Command) -> None:
    result = command("serve", "--print-config", "--port", "1", SIE_ADMIN_TOKEN="s3cret")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "SIE_GATEWAY_HOST=0.0.0.0  # default",
        "SIE_GATEWAY_PORT=1  # flag",
        "SIE_ADMIN_TOKEN=********  # environment",
        "SIE_PRELOAD=  # default",
        "SIE_LOG_JSON=false  # default",
    ]
    assert command.served == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("serve", "--port", "many"), "SIE_GATEWAY_PORT (from flag) must be an integer, not 'many'"),
        (("serve", "--config", "/no/such/file"), "settings file /no/such/file: "),
        (("serve", "--no-such-flag"), "No such option"),
        (("no-such-command",), "No such command"),
    ],
)
def test_a_mistake_is_told_and_ends_with_2(command: Command, arguments: tuple[str, ...], told: str) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert command.served == []


def test_a_bad_variable_is_told_with_its_name_and_ends_with_2(command: Command) -> None:
    result = command("serve", SIE_LOG_JSON="perhaps")
    assert result.exit_code == 2
    assert "SIE_LOG_JSON (from environment) must be true or false, not 'perhaps'" in result.stderr


def test_a_misspelt_variable_is_warned_of_and_does_not_stop_the_service(command: Command) -> None:
    result = command("serve", SIE_GATEWAY_PROT="1")
    assert result.exit_code == 0
    assert "warning: SIE_GATEWAY_PROT is no setting of any service" in result.stderr
    assert command.served == [Example()]


def test_version_prints_ours(command: Command) -> None:
    result = command("version")
    assert (result.exit_code, result.stdout) == (0, f"sie-example {__version__}\n")


def test_help_names_each_flag_with_its_variable_and_default_and_no_secret(command: Command) -> None:
    text = " ".join(command("serve", "--help").stdout.split())
    assert "-p, --port TEXT A port (SIE_GATEWAY_PORT, default 8080)" in text
    assert "--json-logs Log JSON (SIE_LOG_JSON, default false)" in text
    assert "SIE_ADMIN_TOKEN" not in text


def test_run_bare_the_command_shows_its_help(command: Command) -> None:
    assert "serve" in command().output
