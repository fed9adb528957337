import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

class TrioEventLoop:
    def set_exception_handler(
        self, handler: Callable[[asyncio.AbstractEventLoop, dict[str, object]], object] | None
    ) -> None: ...

def open_loop(queue_len: int | None = None) -> AbstractAsyncContextManager[TrioEventLoop]: ...
def aio_as_trio(
    proc: Callable[_P, Awaitable[_T]], *, loop: TrioEventLoop | None = None
) -> Callable[_P, Awaitable[_T]]: ...
