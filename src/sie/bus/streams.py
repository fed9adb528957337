"""Which streams are there, how many messages does one hold, and how does it go (§8.2)? Raises BusError throughout."""

from collections.abc import Mapping

from sie.bus.jetstream import call_api
from sie.bus.jetstream_api import STREAM_NOT_FOUND, ApiError
from sie.bus.request import Requester


async def stream_names(bus: Requester) -> tuple[str, ...]:
    """All of them. The server tells a page at a time."""
    names = list[str]()
    while True:
        answer = await call_api(bus, "STREAM.NAMES", {"offset": len(names)})
        page = answer.get("streams") or ()
        if not isinstance(page, (list, tuple)):
            raise ApiError(500, 0, "an answer without the names of streams")
        names += map(str, page)
        total = answer.get("total")
        if not page or not isinstance(total, int) or len(names) >= total:
            return tuple(names)


async def held_messages(bus: Requester, stream: str) -> int | None:
    """What waits there and what is lent, where an ack takes a message out. None: there is no such stream."""
    try:
        state = (await call_api(bus, f"STREAM.INFO.{stream}")).get("state")
    except ApiError as error:
        if error.err_code != STREAM_NOT_FOUND:
            raise
        return None
    count = state.get("messages") if isinstance(state, Mapping) else None
    if not isinstance(count, int):
        raise ApiError(500, 0, "information on a stream without its messages")
    return count


async def delete_stream(bus: Requester, stream: str) -> bool:
    """With its consumers and all that it holds. False: it was gone already."""
    try:
        await call_api(bus, f"STREAM.DELETE.{stream}")
    except ApiError as error:
        if error.err_code != STREAM_NOT_FOUND:
            raise
        return False
    return True
