"""Where does a line of a watch end? Chunks of bytes in, whole lines out, however the network cut them."""

import attrs

MAX_LINE_BYTES = 8 << 20
"""An object has at most 1 MiB of data, which JSON can write six times as long."""


class LineTooLong(ValueError):
    pass


@attrs.define
class Lines:
    _parts: list[bytes] = attrs.field(factory=list, init=False)
    _held: int = attrs.field(default=0, init=False)

    def receive(self, chunk: bytes) -> list[bytes]:
        """The lines that end in it, without empty ones. Raises LineTooLong."""
        first, *rest = chunk.split(b"\n")
        self._keep(first)
        if not rest:
            return []
        lines = [b"".join(self._parts), *rest[:-1]]
        self._parts.clear()
        self._held = 0
        self._keep(rest[-1])
        return [line for line in lines if line.strip()]

    def _keep(self, part: bytes) -> None:
        self._held += len(part)
        if self._held > MAX_LINE_BYTES:
            raise LineTooLong(f"a line of a watch has more than {MAX_LINE_BYTES} bytes")
        if part:
            self._parts.append(part)
