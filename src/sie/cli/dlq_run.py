"""The commands of `sie dlq`, run: a connection, a call, and its words on the terminal. Errors become click's."""

import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import attrs
import click
import trio

from sie.bus.api import BusError
from sie.cli.dlq_calls import Desk, DlqError, find_work, open_desk, read_newest, read_one, remove, replay
from sie.cli.dlq_settings import DlqSettings
from sie.cli.dlq_words import Kept, readable, readable_work, row_of, table, whole
from sie.domain.subjects import normalize_token
from sie.wire.result import WorkResult

T = TypeVar("T")


def show_list(settings: DlqSettings, *, limit: int, model: str | None, as_json: bool) -> None:
    token = None if model is None else normalize_token(model)

    async def read(desk: Desk) -> list[Kept]:
        return await read_newest(desk.bus, limit=limit, token=token)

    rows = list(map(row_of, _run(settings, read)))
    if as_json:
        _print_json([attrs.asdict(row) for row in rows])
    elif not rows:
        click.echo("there are no dead letters" if model is None else f"there are no dead letters of {model}")
    else:
        click.echo("\n".join(table(rows)))


def show_one(settings: DlqSettings, *, seq: int) -> None:
    async def read(desk: Desk) -> tuple[Kept, bytes | None]:
        kept = await read_one(desk.bus, seq)
        return kept, await find_work(desk.bus, kept)

    _print_json(whole(*_run(settings, read)))


def replay_one(settings: DlqSettings, *, seq: int, timeout_s: float, keep: bool) -> None:
    """The result goes to stdout, what becomes of the letter to stderr."""
    _run(settings, partial(_replay, seq=seq, timeout_s=timeout_s, keep=keep))


async def _replay(desk: Desk, *, seq: int, timeout_s: float, keep: bool) -> None:
    result = await replay(desk, seq, timeout_s=timeout_s)
    _print_json(_result_words(result))
    if not result.success:
        raise DlqError(f"the work failed again; dead letter {seq} is kept")
    if keep:
        end = "is kept"
    elif await remove(desk.bus, seq):
        end = "is deleted"
    else:
        end = "was gone already"
    click.echo(f"done; dead letter {seq} {end}", err=True)


def _result_words(result: WorkResult) -> object:
    blob = result.result_msgpack
    told = {key: value for key, value in attrs.asdict(result).items() if value is not None}
    return readable(told if blob is None else {**told, "result_msgpack": readable_work(blob)})


def _run(settings: DlqSettings, work: Callable[[Desk], Awaitable[T]]) -> T:
    logging.getLogger("sie").addHandler(logging.NullHandler())  # what went wrong is told once, below

    async def main() -> T:
        async with open_desk(settings) as desk:
            return await work(desk)

    try:
        return trio.run(main)
    except (DlqError, BusError) as error:
        raise click.ClickException(str(error) or type(error).__name__) from error


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
