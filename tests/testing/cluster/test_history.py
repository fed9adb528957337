"""The history of a simulated store tells a commit from a seal, and a loss that a script made from another."""

from sie.config.core.head import HEAD, Head, head_text
from sie.config.core.write import Change
from sie.domain.ids import ModelId
from sie.testing.cluster.catalogue import SIDE, document
from sie.testing.cluster.history import StoreHistory
from sie.testing.disk import DiskDouble


class Rig:
    def __init__(self) -> None:
        self.violations: list[str] = []
        self.disk = DiskDouble()
        self.history = StoreHistory(self.disk, self.violations.append, lambda: None)

    def write(self, epoch: int, writer: str, *marks: str, stamp: str = "") -> None:
        change = Change(ModelId(SIDE), document(SIDE, *marks))
        self.disk.put(HEAD, head_text(Head(epoch, writer, stamp or writer, change)))
        self.history.look("config-0/1")


def test_a_sealed_head_is_no_second_write() -> None:
    rig = Rig()
    rig.write(1, "a", "w1")
    rig.write(1, "a", "w1", stamp="again")
    assert [commit.epoch for commit in rig.history.commits] == [1]
    assert rig.violations == []


def test_an_epoch_that_does_not_rise_is_a_violation() -> None:
    rig = Rig()
    rig.write(1, "a", "w1")
    rig.write(1, "b", "w2")
    assert len(rig.violations) == 1


def test_an_acknowledged_write_that_is_gone_is_a_violation() -> None:
    rig = Rig()
    rig.write(1, "a", "w1")
    rig.write(2, "b", "w2")
    rig.history.commits[-1].acked = True
    rig.write(1, "a", "w1", stamp="as before")
    assert len(rig.violations) == 1


def test_what_a_script_takes_away_is_no_violation() -> None:
    rig = Rig()
    rig.write(1, "a", "w1")
    rig.history.back_up()
    rig.write(2, "b", "w1", "w2")
    rig.history.commits[-1].acked = True
    rig.history.turn_back(1)
    assert rig.violations == []
    assert rig.history.epoch == 1
    assert rig.history.is_state(2, {SIDE: document(SIDE, "w1", "w2")})


def test_a_refused_mark_in_the_store_is_a_violation() -> None:
    rig = Rig()
    rig.history.refused.add("w1")
    rig.write(1, "a", "w1")
    assert len(rig.violations) == 1


def test_a_key_whose_write_was_undone_and_comes_again_is_a_violation() -> None:
    rig = Rig()
    rig.write(1, "a", "k1")
    rig.history.done_keys.add(("config-0/1", "k1"))
    rig.write(2, "b", "k1", "w1")
    assert rig.violations == []
    rig.write(3, "c", "w2")
    rig.write(4, "d", "w2", "k1")
    assert len(rig.violations) == 1
