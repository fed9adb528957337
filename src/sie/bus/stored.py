"""How does one read or delete a single message of a stream (§8.2)? By its sequence, from the stream's leader.

All of them raise BusError: what `call_api` raises.
"""

from sie.bus.jetstream import call_api
from sie.bus.jetstream_api import STREAM_NOT_FOUND, ApiError
from sie.bus.request import Requester
from sie.bus.stored_api import NO_MESSAGE_FOUND, Span, Stored, decode_span, decode_stored


async def read_stored(bus: Requester, stream: str, seq: int) -> Stored | None:
    """None: it is not there, or its stream is not."""
    try:
        return decode_stored(await call_api(bus, f"STREAM.MSG.GET.{stream}", {"seq": seq}))
    except ApiError as error:
        if error.err_code not in (NO_MESSAGE_FOUND, STREAM_NOT_FOUND):
            raise
        return None


async def delete_stored(bus: Requester, stream: str, seq: int) -> bool:
    """False: the broker did not, mostly because it was not there; it tells that by several codes."""
    try:
        await call_api(bus, f"STREAM.MSG.DELETE.{stream}", {"seq": seq, "no_erase": True})
    except ApiError:
        return False
    return True


async def read_span(bus: Requester, stream: str) -> Span | None:
    """None: there is no such stream."""
    try:
        return decode_span(await call_api(bus, f"STREAM.INFO.{stream}"))
    except ApiError as error:
        if error.err_code != STREAM_NOT_FOUND:
            raise
        return None
