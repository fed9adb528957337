"""The terminal's screen: one line per process, changed in place while the system starts. Imported only on a terminal.

It draws when told to, from the one thread there is: processes are forked from here, and threads do not survive that.
"""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from sie.cli.screen import PlainScreen


class LiveScreen:
    """Draws until it is closed, and writes plain lines from then on."""

    def __init__(self, names: Sequence[str], write: Callable[[str], None], console: Console | None = None) -> None:
        self._states = dict.fromkeys(names, "")
        self._spinners = {name: Spinner("dots") for name in names}
        self._after = PlainScreen(write)
        self._drawing = True
        self._live = Live(console=console, get_renderable=self._draw, auto_refresh=False)
        self._live.start()

    def state(self, name: str, text: str) -> None:
        self._states[name] = text
        if self._drawing:
            self._live.refresh()
        else:
            self._after.state(name, text)

    def note(self, text: str) -> None:
        if self._drawing:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            self._after.note(text)

    def tick(self) -> None:
        if self._drawing:
            self._live.refresh()

    def close(self) -> None:
        if self._drawing:
            self._drawing = False
            self._live.stop()

    def _draw(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for name, text in self._states.items():
            moving = self._drawing and text != "ready"
            table.add_row(self._spinners[name] if moving else " ", Text(name, style="bold"), Text(text))
        return table
