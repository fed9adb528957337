"""`sie up`: the whole system on one machine, as real processes under one supervisor, until it is told to stop."""

import os
import sys
from functools import partial
from pathlib import Path

import click

from sie.cli.failure import Failure
from sie.cli.folders import FolderUnusable, holding, resolve_folders
from sie.cli.launch import started
from sie.cli.logs import last_lines, log_of, rotate
from sie.cli.output import Output
from sie.cli.plan import Plan, Ports, plan_up
from sie.cli.ports import PortTaken, check_free, free_ports
from sie.cli.programs import ProgramMissing, find_programs
from sie.cli.settings import UpSettings
from sie.runtime.command import CONFIG_VARIABLE, run_with_settings, serve_command

SUMMARY = "Run the whole system on this machine: broker, config service, gateway and one CPU worker."


def up_command(started_at_s: float) -> click.Command:
    """`started_at_s` is the monotonic time from which the start is counted."""

    def callback(
        *, config: str | None, print_config: bool, no_preload: bool, as_json: bool, verbose: bool, **flags: object
    ) -> None:
        given = {**flags, "preload": ()} if no_preload else flags
        serve = partial(_up, output=Output(as_json, verbose), config=config, started_at_s=started_at_s)
        run_with_settings(UpSettings, serve, flags=given, config=config, print_config=print_config)

    own = [
        click.Option(["--no-preload"], is_flag=True, help="Load no model at start."),
        click.Option(["--json", "as_json"], is_flag=True, help="When ready, print one JSON object, and nothing else."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Show what the processes log, too."),
    ]
    settings = serve_command(UpSettings, lambda _: None, summary=SUMMARY).params
    return click.Command("up", callback=callback, params=[*settings, *own], help=SUMMARY)


def _up(settings: UpSettings, *, output: Output, config: str | None, started_at_s: float) -> None:
    environ = {**os.environ, CONFIG_VARIABLE: config} if config else dict(os.environ)
    folders = resolve_folders(settings.state_dir, settings.cache_dir, environ=environ, home=Path.home())
    try:
        programs = find_programs(sys.executable, environ.get("PATH", os.defpath))
        folders.make()
        with holding(folders):
            plan = plan_up(settings, folders, choose_ports(settings), programs, environ)
            failure = run_plan(plan, output, started_at_s)
    except (FolderUnusable, PortTaken, ProgramMissing) as error:
        raise click.ClickException(str(error)) from error
    if failure:
        raise click.ClickException("\n".join(explained(failure)))


def run_plan(plan: Plan, output: Output, started_at_s: float) -> Failure | None:
    """Trio and the supervisor take as long to import as the processes to start: they are imported meanwhile."""
    for service in plan.services:
        rotate(log_of(plan.logs, service.name))
    with started(plan.services, plan.logs) as children:
        from sie.cli.supervise import run_supervisor  # noqa: PLC0415 -- see above

        return run_supervisor(plan, children, output, started_at_s)


def choose_ports(settings: UpSettings) -> Ports:
    """Raises PortTaken."""
    if settings.port:
        check_free(settings.host, settings.port)
    nats, config, gateway = free_ports(3)
    return Ports(nats, config, settings.port or gateway)


def explained(failure: Failure) -> list[str]:
    """The reason, and the end of the log that may hold more."""
    if failure.log is None:
        return [failure.reason]
    return [failure.reason, f"the last lines of {failure.log}:", *(f"  {line}" for line in last_lines(failure.log))]
