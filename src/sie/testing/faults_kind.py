"""What is a fault? A value that a strategy draws, and that knows how to begin."""

from typing import Protocol

from sie.testing.cluster.cluster import Cluster


class Fault(Protocol):
    """`begin` does it; what ends by itself later is left to the cluster."""

    async def begin(self, cluster: Cluster) -> None: ...
