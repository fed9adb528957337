"""May a gateway hold this? What it shows of its registry and epoch, against what it can have read and heard."""

import attrs
import trio

from sie.testing.cluster.facts import GatewayFacts
from sie.testing.cluster.history import StoreHistory, Violate
from sie.testing.cluster.shown import Shown

STRANGE_EPOCH = 10**9
"""And above: what only a stranger tells."""
FORGED_EPOCH = 10**6
"""And above: what a forger tells in a trusted name."""
STRANGE_MODEL = "acme/strange"
ADOPTED_S = 0.5
"""By then an export that has arrived is what is held."""


@attrs.frozen
class Look:
    """At one gateway; `before` is what its link had read when the look began."""

    facts: GatewayFacts
    shown: Shown
    exports: int


@attrs.frozen
class ReplicaRules:
    history: StoreHistory
    violate: Violate

    def judge(self, look: Look) -> None:
        facts, shown = look.facts, look.shown
        self._check_strangers(facts, shown)
        is_settled = look.exports == facts.link.exports and trio.current_time() - facts.link.read_s > ADOPTED_S
        if not is_settled or facts.link.is_partial:
            facts.shown = None
            return
        self._check_export(facts, shown)
        self._check_fall(facts, shown)
        if not facts.has_forged:
            self._check_marks(facts, shown)
            self._check_epoch(facts, shown)
        facts.shown, facts.shown_exports = shown, look.exports

    def _check_strangers(self, facts: GatewayFacts, shown: Shown) -> None:
        if shown.epoch >= STRANGE_EPOCH or STRANGE_MODEL in shown.profiles:
            self.violate(f"{facts.name} takes a stranger's word: epoch {shown.epoch}, {sorted(shown.profiles)}")

    def _check_export(self, facts: GatewayFacts, shown: Shown) -> None:
        """Deltas only add to what was read."""
        read = facts.link.read
        if facts.link.exports and shown.epoch < read.epoch:
            self.violate(f"{facts.name} stands at epoch {shown.epoch} after it has read the export of {read.epoch}")
        for model, profiles in read.profiles.items():
            if missing := profiles - shown.profiles.get(model, frozenset()):
                what = f"{sorted(missing)} of {model}"
                self.violate(f"{facts.name} lacks {what} at epoch {shown.epoch}, and has read the export with it")

    def _check_fall(self, facts: GatewayFacts, shown: Shown) -> None:
        before = facts.shown
        if before is not None and shown.epoch < before.epoch and facts.shown_exports == facts.link.exports:
            self.violate(f"{facts.name} falls from epoch {before.epoch} to {shown.epoch}, and has read no export")

    def _check_marks(self, facts: GatewayFacts, shown: Shown) -> None:
        """What it holds was committed at its epoch or before."""
        for model, profiles in shown.profiles.items():
            for mark in sorted(profiles - facts.link.read.profiles.get(model, frozenset())):
                epochs = {c.epoch for c in self.history.commits_of(mark) if c.model == model}
                if not epochs or min(epochs) > shown.epoch:
                    what = f"{mark} of {model} at epoch {shown.epoch}"
                    self.violate(f"{facts.name} holds {what}, it was committed at {sorted(epochs)}")

    def _check_epoch(self, facts: GatewayFacts, shown: Shown) -> None:
        """The write that has the epoch at which it stands is in what it holds, if it was no removal."""
        told = [c for c in self.history.all if c.epoch == shown.epoch]
        is_there = any(c.marks <= shown.profiles.get(c.model, frozenset()) for c in told)
        if shown.epoch > facts.link.read.epoch and not is_there:
            models = sorted({c.model for c in told})
            self.violate(f"{facts.name} stands at epoch {shown.epoch} without its write, of {models}")
