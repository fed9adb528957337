"""A block with background tasks raises its own errors as they are, whatever else happens at the same moment."""

import pytest
import trio

from sie.bus.background import background


async def test_an_error_of_the_block_comes_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with background(trio.sleep_forever):
            raise KeyError("the block's own")


async def test_an_error_comes_as_it_is_where_its_block_is_cancelled_too() -> None:
    """The cancel is delivered again at the next checkpoint."""
    with trio.CancelScope() as scope:
        with pytest.raises(KeyError):
            await cancelled_and_broken(scope)
        await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught


async def cancelled_and_broken(scope: trio.CancelScope) -> None:
    async with background(trio.sleep_forever):
        scope.cancel()
        raise KeyError("the block's own")


async def test_a_cancel_alone_goes_on_its_way() -> None:
    with trio.move_on_after(0) as scope:
        async with background(trio.sleep_forever):
            await trio.sleep_forever()
    assert scope.cancelled_caught
