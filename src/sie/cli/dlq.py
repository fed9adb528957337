"""`sie dlq`: dead letters for a person (§8): which there are, what stands in one, and the same work once more.

What a command needs of the system is imported when one is run: `sie up` is not to wait for it.
"""

from collections.abc import Sequence
from functools import partial

import click

from sie.cli.dlq_settings import DlqSettings
from sie.runtime.command import run_with_settings, serve_command

SUMMARY = "Work that was given up, kept for a day: look at it, and have it done again."
LIST = "Show dead letters, newest first."
SHOW = "Show everything of one dead letter, as JSON."
REPLAY = "Do the work of one dead letter again, and show its result. The letter is deleted once the work succeeds."
DEFAULT_LIMIT = 50
DEFAULT_TIMEOUT_S = 120.0


def dlq_group() -> click.Group:
    group = click.Group("dlq", help=SUMMARY, no_args_is_help=True)
    for command in (_list_command(), _show_command(), _replay_command()):
        group.add_command(command)
    return group


def _list_command() -> click.Command:
    def callback(
        *, limit: int, model: str | None, as_json: bool, config: str | None, print_config: bool, **flags: object
    ) -> None:
        from sie.cli.dlq_run import show_list  # noqa: PLC0415 -- see the module

        do = partial(show_list, limit=limit, model=model, as_json=as_json)
        run_with_settings(DlqSettings, do, flags=flags, config=config, print_config=print_config)

    own = [
        click.Option(["-n", "--limit"], type=click.IntRange(min=1), default=DEFAULT_LIMIT, help="How many, at most."),
        click.Option(["--model"], help="Of this model alone, by its id or its token in subjects."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print a JSON list."),
    ]
    return click.Command("list", callback=callback, params=_with_broker(own), help=LIST)


def _show_command() -> click.Command:
    def callback(*, seq: int, config: str | None, print_config: bool, **flags: object) -> None:
        from sie.cli.dlq_run import show_one  # noqa: PLC0415 -- see the module

        do = partial(show_one, seq=seq)
        run_with_settings(DlqSettings, do, flags=flags, config=config, print_config=print_config)

    return click.Command("show", callback=callback, params=_with_broker([_seq()]), help=SHOW)


def _replay_command() -> click.Command:
    def callback(
        *, seq: int, timeout: float, keep: bool, config: str | None, print_config: bool, **flags: object
    ) -> None:
        from sie.cli.dlq_run import replay_one  # noqa: PLC0415 -- see the module

        do = partial(replay_one, seq=seq, timeout_s=timeout, keep=keep)
        run_with_settings(DlqSettings, do, flags=flags, config=config, print_config=print_config)

    own = [
        _seq(),
        click.Option(
            ["--timeout"],
            type=click.FloatRange(min=0.1),
            default=DEFAULT_TIMEOUT_S,
            show_default=True,
            help="Seconds to wait for the result.",
        ),
        click.Option(["--keep"], is_flag=True, help="Leave the letter where it is, whatever comes of it."),
    ]
    return click.Command("replay", callback=callback, params=_with_broker(own), help=REPLAY)


def _seq() -> click.Argument:
    return click.Argument(["seq"], type=click.IntRange(min=1))


def _with_broker(own: Sequence[click.Parameter]) -> list[click.Parameter]:
    return [*own, *serve_command(DlqSettings, lambda _: None, summary=SUMMARY).params]
