"""What does a gateway hold of requests (§8.2, §16.2)? At rest nothing; meanwhile no more than its budgets."""

from collections.abc import Iterator

from sie.gateway.dispatch.dispatcher import Dispatcher


def left_behind(dispatcher: Dispatcher) -> Iterator[str]:
    """A line for each kind of thing that belongs to some request."""
    held = {
        "collectors": len(dispatcher.pending),
        "bytes reserved for chunks": dispatcher.pending.memory.reserved_bytes,
        "items in flight in lanes": dispatcher.lanes._items.total(),
        "handoff leases": dispatcher.handoff.demand._handoffs.total(),
        "deadlines": len(dispatcher.deadlines) + len(dispatcher.handoff.deadlines),
    }
    return (f"{count} {what}" for what, count in held.items() if count)


def over_budget(dispatcher: Dispatcher) -> Iterator[str]:
    """What requests have reserved is what the process counts, and within what it may."""
    memory = dispatcher.pending.memory
    if not 0 <= memory.reserved_bytes <= memory.max_bytes:
        yield f"reserves {memory.reserved_bytes} bytes for chunks, and may {memory.max_bytes}"
    chunks = [waiting.collector.chunks for waiting in dispatcher.pending._waiting.values()]
    if any(not 0 <= each.reserved_bytes <= each.max_bytes for each in chunks):
        yield f"reserves more than {chunks[0].max_bytes} bytes for the chunks of one request"
    if (counted := sum(each.reserved_bytes for each in chunks)) != memory.reserved_bytes:
        yield f"counts {memory.reserved_bytes} bytes for chunks, and its requests have reserved {counted}"
