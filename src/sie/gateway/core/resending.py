"""Which items of a worker's own queue go to its pool's too (§8.2)? Those that nobody is seen to have taken. Pure."""

from collections.abc import Iterable, Mapping


def unseen_items(missing: Iterable[int], places: Mapping[int, int], *, delivered: int | None) -> tuple[int, ...]:
    """Of the items without a result. `places` are theirs in the worker's stream, as far as they were told; `delivered`
    is the last place that its consumer was given, None where there is none, or it cannot be asked.
    """
    if delivered is None:
        return tuple(missing)
    return tuple(index for index in missing if places.get(index, delivered + 1) > delivered)
