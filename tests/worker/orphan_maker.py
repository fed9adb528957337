"""A worker's half that dies without a word: it has a backend compute, prints its pid, and waits to be killed."""

import sys

import trio

from sie.wire.ipc import Hello
from sie.worker.core.state import ChildEvent, LoadEnded
from tests.worker.real_child import LOAD, MODEL, open_real_child, texts_of


def tell(event: ChildEvent) -> None:
    if isinstance(event, Hello):
        print(event.pid, flush=True)
    if isinstance(event, LoadEnded):
        print("loaded", flush=True)


async def main() -> None:
    async with open_real_child(tell) as child:
        child.load_nowait(LOAD)
        await child.encode(MODEL, texts_of("sleep 60"))


if __name__ == "__main__":
    sys.exit(trio.run(main))
