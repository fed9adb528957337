"""What has been committed to a simulated config store, by whom, and was any of it lost that had been acknowledged?

Told of every change of the disk by whoever made it. The head's own history is the judge: each head is a commit, or the
same one sealed again, or one from before, and then what came after it is lost.
"""

from collections.abc import Callable, Iterator, Mapping

import attrs

from sie.config.core.head import HEAD, read_head
from sie.testing.cluster.catalogue import profiles_of
from sie.testing.disk import DiskDouble

Violate = Callable[[str], None]
Overlay = Mapping[str, str]


@attrs.define(eq=False)
class Commit:
    """`by` is a life of a config process. `acked`: its client was told so. `kept`: it is in the store now."""

    epoch: int
    writer: str
    model: str
    text: str | None
    by: str
    marks: frozenset[str]
    acked: bool = False
    kept: bool = True


@attrs.frozen
class Backup:
    """A copy of the store as it was after so many commits."""

    commits: int
    texts: Mapping[str, str]


@attrs.define(eq=False)
class StoreHistory:
    """`commits` are those in the store, in order; `all` also those that a script took away.

    `states` has each epoch with the overlay that belonged to it, at any time.
    """

    disk: DiskDouble
    violate: Violate
    on_change: Callable[[], None]
    commits: list[Commit] = attrs.field(factory=list)
    all: list[Commit] = attrs.field(factory=list)
    backups: list[Backup] = attrs.field(factory=lambda: [Backup(0, {})])
    states: set[tuple[int, frozenset[tuple[str, str]]]] = attrs.field(factory=lambda: {(0, frozenset())})
    refused: set[str] = attrs.field(factory=set)
    """Marks of writes that were all refused: nowhere, ever."""
    done_keys: set[tuple[str, str]] = attrs.field(factory=set)
    """Each life with the marks of the keys whose write it has answered with success."""
    losses: int = 0
    """How often a script took the store away or turned it back."""
    _seen: int = 0

    @property
    def epoch(self) -> int:
        return self.commits[-1].epoch if self.commits else 0

    @property
    def overlay(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for commit in self.commits:
            found.pop(commit.model, None)
            if commit.text is not None:
                found[commit.model] = commit.text
        return found

    def look(self, by: str) -> None:
        """At what has changed on the disk since the last look, all by one life or none."""
        changes = self.disk.changes[self._seen :]
        self._seen = len(self.disk.changes)
        for change in changes:
            if change.name == HEAD:
                self._take(change.text, by)

    def _take(self, text: str, by: str) -> None:
        head = read_head(text) if text else None
        kept = [commit.writer for commit in self.commits]
        if head is None or head.writer in kept:
            self._drop(kept.index(head.writer) + 1 if head else 0)
        else:
            profiles = profiles_of([head.write.text]) if head.write.text else {}
            marks = frozenset(name for names in profiles.values() for name in names)
            self._add(Commit(head.epoch, head.writer, str(head.write.model_id), head.write.text, by, marks))

    def _add(self, commit: Commit) -> None:
        if commit.epoch <= self.epoch:
            self.violate(f"{commit.by} writes {commit.model} at epoch {commit.epoch}, the store is at {self.epoch}")
        for mark in sorted(commit.marks & self.refused):
            self.violate(f"{commit.by} writes {mark} of {commit.model}, which was refused")
        before = next((old.marks for old in reversed(self.commits) if old.model == commit.model), frozenset[str]())
        for mark in sorted(commit.marks - before):
            if (commit.by, mark) in self.done_keys:
                self.violate(f"{commit.by} writes {mark} of {commit.model} a second time for one key")
        self.commits.append(commit)
        self.all.append(commit)
        self.states.add((commit.epoch, frozenset(self.overlay.items())))
        self.on_change()

    def _drop(self, kept: int) -> None:
        """Nobody had a right to it: a script that turns the store back says so itself."""
        lost, self.commits = self.commits[kept:], self.commits[:kept]
        for commit in lost:
            commit.kept = False
            if commit.acked:
                self.violate(f"the write of {commit.model} at epoch {commit.epoch} was acknowledged and is lost")
        if lost:
            self.on_change()

    def back_up(self) -> None:
        """Now and then: a script may turn the store back to this."""
        if self.backups[-1].commits != len(self.commits):
            self.backups.append(Backup(len(self.commits), dict(self.disk.texts)))

    def turn_back(self, number: int) -> None:
        """To a copy taken while these commits were the store's; number 0 is the empty store."""
        fitting = [backup for backup in self.backups if backup.commits <= len(self.commits)]
        backup = fitting[number % len(fitting)]
        self.backups = fitting[: fitting.index(backup) + 1]
        self.losses += 1
        self.disk.restore(backup.texts)
        for commit in self.commits[backup.commits :]:
            commit.kept, commit.acked = False, False
        self.commits = self.commits[: backup.commits]
        self.look("nobody")
        self.on_change()

    def find(self, by: str, model: str, mark: str | None) -> Commit | None:
        """The newest that a life made of a mark, or the newest removal of the model where there is none."""
        fitting = (c for c in reversed(self.all) if c.by == by and c.model == model)
        return next((c for c in fitting if (c.text is None if mark is None else mark in c.marks)), None)

    def commits_of(self, mark: str) -> Iterator[Commit]:
        return (commit for commit in self.all if mark in commit.marks)

    def is_state(self, epoch: int, overlay: Overlay) -> bool:
        """Have these models ever been what the store held at this epoch?"""
        return (epoch, frozenset(overlay.items())) in self.states
