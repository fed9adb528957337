"""Whom does a bus dial, and how long does it wait between tries (§10)? Pure; `sie.bus.nats` dials."""

from urllib.parse import unquote, urlsplit

import attrs

BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 2.0


@attrs.frozen
class Endpoint:
    """The servers of one cluster, comma-separated as NATS has it, and who we are there."""

    url: str
    name: str
    user: str | None
    password: str | None = attrs.field(repr=False)

    @property
    def servers(self) -> list[str]:
        return self.url.split(",")

    @property
    def login(self) -> tuple[str | None, str | None]:
        """Name and password: ours, else those that stand in the URL, where they are percent-encoded. A token, which
        stands there alone, is the client's own to read.
        """
        if self.user is not None:
            return self.user, self.password
        found = (urlsplit(server) for server in self.servers)
        named = next((parts for parts in found if parts.password is not None), None)
        return (None, None) if named is None else (unquote(named.username or ""), unquote(named.password or ""))

    @property
    def hosts(self) -> str:
        """For logs: a URL may hold a password."""
        return ",".join(server.rpartition("@")[2] for server in self.servers)


@attrs.define
class Tries:
    """Tries in a row without a session that lasted."""

    count: int = 0

    def next(self) -> None:
        self.count += 1

    def lasted(self, session_s: float) -> None:
        """A session that outlived the longest wait ends the row; one that broke at once counts as a failed try."""
        if session_s > BACKOFF_MAX_S:
            self.count = 0

    @property
    def wait_s(self) -> float:
        doublings = min(max(self.count - 1, 0), 10)
        return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * float(2**doublings))

    @property
    def worth_a_line(self) -> bool:
        """Tries 1, 2, 4, 8, …: a broker that stays away must not fill the log."""
        return self.count & (self.count - 1) == 0
