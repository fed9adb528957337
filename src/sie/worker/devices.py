"""Several devices as if they were one: a backend child for each, and every model with the one it is placed on (§15.1).

Where that is is for `core.placement`; a child that does not come up gives its models away, and they are placed anew.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import attrs

from sie.wire.ipc import EncodeItem, LoadModel
from sie.worker.children import Child, Launch, Report, open_child
from sie.worker.core.flights import Answer


@asynccontextmanager
async def open_children(launches: Sequence[Launch], report: Report) -> AsyncIterator[Child]:
    """A child for each launch, kept for as long as the block."""
    is_only = len(launches) == 1
    async with AsyncExitStack() as stack:
        children = [
            await stack.enter_async_context(open_child(launch, report, number=number, is_only=is_only))
            for number, launch in enumerate(launches)
        ]
        yield children[0] if is_only else Children(tuple(children))


@attrs.define(eq=False)
class Children:
    """Each model is with the child that it was last loaded on."""

    children: tuple[Child, ...]
    _devices: dict[str, int] = attrs.field(factory=dict, init=False)

    def load_nowait(self, request: LoadModel, *, device: int = 0) -> None:
        self._devices[request.serving_id] = device
        self.children[device].load_nowait(request, device=device)

    def unload_nowait(self, serving_id: str) -> None:
        self._of(serving_id).unload_nowait(serving_id)

    async def unload(self, serving_id: str) -> None:
        await self._of(serving_id).unload(serving_id)

    async def encode(self, serving_id: str, items: tuple[EncodeItem, ...], *, alone: bool = False) -> Answer:
        return await self._of(serving_id).encode(serving_id, items, alone=alone)

    def _of(self, serving_id: str) -> Child:
        return self.children[self._devices.get(serving_id, 0)]
