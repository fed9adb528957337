"""The clients that write configuration and read it: each asks once, and what it gets is judged."""

import attrs
import trio

from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.served import ConnectionLost
from sie.testing.cluster.writes import Read, Write, mark_of, write_call


@attrs.define(eq=False)
class Writers:
    """`endings` counts how writes ended, by verb."""

    cluster: Cluster
    waiting: int = 0
    begun: int = 0
    endings: dict[str, int] = attrs.field(factory=dict)

    def write_soon(self, write: Write) -> None:
        for _ in range(write.clients):
            self.begun += 1
            self.waiting += 1
            self.cluster.nursery.start_soon(self._write, write, mark_of(write, self.begun))

    async def write(self, write: Write) -> tuple[str, str]:
        """How it ended, and the mark of what was written."""
        self.begun += 1
        self.waiting += 1
        mark = mark_of(write, self.begun)
        return await self._write(write, mark), mark

    async def read(self, read: Read) -> None:
        if read.what == "replica":
            await self.cluster.look_at(self.cluster.gateway(read.number))
            return
        await self.cluster.read_authority(read.number)

    async def _write(self, write: Write, mark: str) -> str:
        node = self.cluster.config_process(write.config)
        ending, life, attempt = "left", node.life, self.cluster.rules.begin(write, mark)
        try:
            with trio.move_on_after(float("inf") if write.leaves_after_s is None else write.leaves_after_s):
                answer = await node.server.request(write_call(write, mark))
                ending = self.cluster.rules.on_answer(life, attempt, answer)
        except ConnectionLost:
            ending = "lost"
        self.waiting -= 1
        self.endings[f"{write.verb} {ending}"] = self.endings.get(f"{write.verb} {ending}", 0) + 1
        self.cluster.log.add(node.name, f"{write.verb} {write.model} {mark}", ending)
        return ending
