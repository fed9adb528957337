"""The `sie` command: `sie up` runs everything on this machine, `sie dlq` shows work that was given up."""

import time

STARTED_AT_S = time.monotonic()

import click  # noqa: E402 -- the start is counted from the first line, imports included

from sie import __version__  # noqa: E402
from sie.cli.dlq import dlq_group  # noqa: E402
from sie.cli.up import up_command  # noqa: E402


def group(started_at_s: float) -> click.Group:
    commands = click.Group("sie", help="An inference cluster for search.", no_args_is_help=True)
    commands.add_command(up_command(started_at_s))
    commands.add_command(dlq_group())
    commands.add_command(click.Command("version", callback=lambda: click.echo(f"sie {__version__}"), help="Print it."))
    return commands


def main() -> None:
    group(STARTED_AT_S)()


if __name__ == "__main__":
    main()
