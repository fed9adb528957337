"""May the config service say this? Its exports, deltas and answers to writes, against the store's own history."""

import json
from collections.abc import Callable

import attrs

from sie.bus.api import Message
from sie.testing.cluster.catalogue import base_documents
from sie.testing.cluster.exported import Exported, read_exported
from sie.testing.cluster.history import Commit, StoreHistory, Violate
from sie.testing.cluster.served import Answer
from sie.testing.cluster.writes import Write, judge_outcome
from sie.testing.disk import DiskDouble
from sie.wire.notification import ConfigNotification, decode_notification


@attrs.frozen
class Attempt:
    """One write of one client under way. `losses` is the history's as it began."""

    write: Write
    mark: str
    losses: int


@attrs.define(eq=False)
class StoreRules:
    """`forged` are the epochs of deltas that a script told in a trusted name."""

    disk: DiskDouble
    violate: Violate
    count: Callable[[str], None]
    history: StoreHistory
    forged: set[int] = attrs.field(factory=set)
    _told: dict[str, int] = attrs.field(factory=dict)

    @classmethod
    def of(
        cls, disk: DiskDouble, violate: Violate, count: Callable[[str], None], on_change: Callable[[], None]
    ) -> "StoreRules":
        return cls(disk, violate, count, StoreHistory(disk, violate, on_change))

    def begin(self, write: Write, mark: str) -> Attempt:
        return Attempt(write, mark, self.history.losses)

    def on_export(self, life: str, edition: int, body: bytes) -> Exported:
        """Models and epoch are of one moment, and over the folders of the process's own edition."""
        exported = read_exported(body)
        self.count("exports")
        self.history.look("nobody")
        if not self.history.is_state(exported.epoch, exported.overlay):
            self.violate(f"{life} exports epoch {exported.epoch} with {sorted(exported.overlay)}, which never were one")
        base = {name: text for name, text in base_documents(edition).items() if name not in exported.overlay}
        if {**base, **exported.overlay} != exported.documents:
            self.violate(f"{life} exports {sorted(exported.documents)}, its folders have {sorted(base)}")
        return exported

    def on_told(self, life: str, message: Message) -> None:
        """A delta is of a write that is committed, whole, and in the order of epochs."""
        told = decode_notification(message.data)
        self.count("deltas told")
        if told.epoch < self._told.get(life, 0):
            self.violate(f"{life} tells epoch {told.epoch} after epoch {self._told[life]}")
        self._told[life] = told.epoch
        if not any(_is_of(told, commit, life) for commit in self.history.all):
            self.violate(f"{life} tells of epoch {told.epoch} of {told.model_id}, which it has not committed")

    def on_answer(self, life: str, attempt: Attempt, answer: Answer) -> str:
        """How the write ended, in a word."""
        write, outcome = attempt.write, judge_outcome(answer)
        self.history.look("nobody")
        match outcome:
            case "done":
                self._on_done(life, attempt, answer)
            case "refused" if write.key is None and write.verb != "delete":
                self._on_refused(life, attempt)
            case "broken":
                self.violate(f"{life} answers {write} with {answer.status} {answer.body[:200]!r}")
            case _:
                pass
        if outcome in ("done", "unchanged"):
            if write.is_bad and write.verb != "delete":
                self.violate(f"{life} answers the bad {write} with {answer.status}")
            if write.key is not None:
                self.history.done_keys.add((life, attempt.mark))
        return outcome

    def _on_done(self, life: str, attempt: Attempt, answer: Answer) -> None:
        write = attempt.write
        commit = self.history.find(life, write.model, None if write.verb == "delete" else attempt.mark)
        if commit is None:
            self.violate(f"{life} acknowledges {write} {attempt.mark}, which is not in the store")
        elif commit.kept:
            commit.acked = True
        elif attempt.losses == self.history.losses:
            self.violate(f"{life} acknowledges {write} {attempt.mark}, which is not in the store any more")
        if write.verb == "delete":
            self._check_epoch(life, write, json.loads(answer.body)["epoch"])

    def _check_epoch(self, life: str, write: Write, epoch: int) -> None:
        removals = {c.epoch for c in self.history.all if c.by == life and c.model == write.model and c.text is None}
        if epoch not in removals:
            self.violate(f"{life} tells epoch {epoch} of {write}, it was {sorted(removals)}")

    def _on_refused(self, life: str, attempt: Attempt) -> None:
        self.history.refused.add(attempt.mark)
        for commit in self.history.commits_of(attempt.mark):
            self.violate(f"{life} refuses {attempt.write}, and {attempt.mark} is in the store at epoch {commit.epoch}")


def _is_of(told: ConfigNotification, commit: Commit, life: str) -> bool:
    same = (told.epoch, told.model_id, told.model_config) == (commit.epoch, commit.model, commit.text or "")
    return same and commit.by == life
