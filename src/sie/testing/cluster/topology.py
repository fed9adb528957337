"""Of how many processes is a simulated cluster, and what does it stand on?"""

import attrs

from sie.bus.jetstream_api import Storage


@attrs.frozen
class Topology:
    """`storage` is where the broker keeps work. `kubernetes`: the gateways keep their pools in an API server."""

    gateways: int = 1
    workers: int = 1
    storage: Storage = "memory"
    kubernetes: bool = False
