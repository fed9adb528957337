"""Which workers' own streams are left over (§8.2)? A worker that ends in order takes its own away; one that was killed
leaves it, empty sooner or later, since what lies there gets too old. Sans-IO; `sie.gateway.dispatch.leftovers` sweeps.
"""

from collections.abc import Iterable

import attrs

from sie.domain.ids import WorkerId
from sie.domain.subjects import is_worker_stream, worker_stream


@attrs.define
class Leftovers:
    """A stream is left over at the second look in a row at which nobody was heard of whose it is: a worker makes its
    stream before all gateways have heard of it.
    """

    _suspects: frozenset[str] = attrs.field(default=frozenset(), init=False)

    def look(self, streams: Iterable[str], workers: Iterable[WorkerId]) -> tuple[str, ...]:
        """Those that may go if they are empty. `workers` are all that are there."""
        theirs = frozenset(map(worker_stream, workers))
        unclaimed = frozenset(name for name in streams if is_worker_stream(name)) - theirs
        before, self._suspects = self._suspects, unclaimed
        return tuple(sorted(unclaimed & before))
