"""The command line that every service has, made from its settings class: `serve` with its flags, and `version`."""

import os
from collections.abc import Callable
from typing import TypeVar

import attrs
import click

from sie import __version__
from sie.runtime.kinds import shown
from sie.runtime.settings import Field, SettingError, Sources, fields, read_settings_file, resolve

S = TypeVar("S", bound=attrs.AttrsInstance)
CONFIG_VARIABLE = "SIE_CONFIG_FILE"


def service_group(name: str, settings: type[S], serve: Callable[[S], None], *, summary: str) -> click.Group:
    """`NAME serve [flags]` resolves the settings and calls `serve` with them; `NAME version` prints ours."""
    group = click.Group(name, help=summary, no_args_is_help=True)
    group.add_command(serve_command(settings, serve, summary=summary))
    group.add_command(click.Command("version", callback=lambda: click.echo(f"{name} {__version__}"), help="Print it."))
    return group


def serve_command(settings: type[S], serve: Callable[[S], None], *, summary: str, name: str = "serve") -> click.Command:
    def callback(config: str | None, print_config: bool, **flags: object) -> None:
        run_with_settings(settings, serve, flags=flags, config=config, print_config=print_config)

    own = [_option(field) for field in fields(settings) if field.setting.flags]
    shared = [
        click.Option(["--config"], help=f"A YAML file of variables and values ({CONFIG_VARIABLE})."),
        click.Option(["--print-config"], is_flag=True, help="Print each setting with its origin, and end."),
    ]
    return click.Command(name, callback=callback, params=[*own, *shared], help=summary)


def run_with_settings(
    settings: type[S],
    serve: Callable[[S], None],
    *,
    flags: dict[str, object],
    config: str | None,
    print_config: bool,
) -> None:
    path = config or os.environ.get(CONFIG_VARIABLE)
    try:
        file = read_settings_file(path) if path else {}
        resolved = resolve(settings, Sources(flags, os.environ, file, path or "file"))
    except SettingError as error:
        raise click.UsageError(str(error)) from error
    for unknown in resolved.unknown:
        click.echo(f"warning: {unknown} is no setting of any service", err=True)
    if print_config:
        click.echo("\n".join(resolved.lines()))
        return
    serve(resolved.settings)


def _option(field: Field) -> click.Option:
    """The parsers of `sie.runtime.kinds` read the text, so that a flag and a variable mean the same."""
    told = "" if field.default in (None, (), "") or field.setting.secret else f", default {shown(field.default)}"
    text = f"{field.setting.help} ({field.setting.env}{told})"
    names = [field.name, *field.setting.flags]
    if field.kind.is_flag:
        return click.Option(names, help=text, default=None, is_flag=True, flag_value="true")
    if field.kind.is_list:
        return click.Option(names, help=text, default=None, multiple=True, callback=lambda _, __, value: value or None)
    return click.Option(names, help=text, default=None)
