"""A mirror equals the server's objects after any interleaving of events, cuts, repetitions and compactions."""

import json
from typing import Literal

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.kube.writing import SCOPE, Write, held_by, new_model, write, writes
from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.events import read_event
from sie.kube.core.mirror import Mirror
from sie.kube.core.values import Change, ConfigMap, Listing, Put
from sie.testing.kube.face import bookmark
from sie.testing.kube.model import KubeModel
from sie.testing.kube.refusing import Refused
from sie.testing.kube.resources import Document
from sie.testing.kube.shaping import text_of

Step = Write | int | Literal["compact", "bookmark", "forget"]
"""An int is how many of the waiting events are delivered before the connection is cut."""

steps: st.SearchStrategy[list[Step]] = st.lists(
    writes() | st.integers(0, 4) | st.sampled_from(("compact", "bookmark", "forget")), max_size=40
)


@attrs.define
class Follower:
    """Knows only what the mirror said had changed."""

    mirror: Mirror[ConfigMap] = attrs.field(factory=Mirror)
    known: dict[str, ConfigMap] = attrs.field(factory=dict)
    last: Document | None = None

    def told(self, change: Change[ConfigMap]) -> None:
        name = change.item.metadata.name
        if isinstance(change, Put):
            assert self.known.get(name) != change.item
            self.known[name] = change.item
        else:
            del self.known[name]

    def receive(self, event: Document) -> None:
        change = self.mirror.receive(read_event(CONFIG_MAPS, json.dumps(event).encode()))
        if change is not None:
            self.told(change)
        self.last = event
        item = event["object"]
        assert isinstance(item, dict)
        assert self.mirror.resource_version == text_of(item, "resourceVersion"), "a cut would tell it again"

    def catch_up(self, model: KubeModel, at_most: int | None = None) -> None:
        try:
            version = self.mirror.resource_version
            events = None if version is None else model.since(SCOPE, int(version))
        except Refused:  # expired
            events = None
        if events is None:
            items = tuple(map(CONFIG_MAPS.read, model.listed(SCOPE)))
            for change in self.mirror.relisted(Listing(items, str(model.revision))):
                self.told(change)
        for event in (events or [])[:at_most]:
            self.receive(event)


@given(steps)
def test_it_equals_the_server_once_it_has_caught_up(steps: list[Step]) -> None:
    model, follower = new_model(), Follower()
    for step in steps:
        match step:
            case Write():
                write(model, step)
            case "compact":
                model.compact()
            case "forget":
                follower.mirror.forget_version()
            case "bookmark":
                follower.catch_up(model)
                follower.receive(bookmark(SCOPE, model.revision))
            case _:
                follower.catch_up(model, step)
        assert follower.known == follower.mirror.items
    follower.catch_up(model)
    assert follower.mirror.items == held_by(model)


@given(st.lists(writes(), min_size=1, max_size=20))
def test_an_event_told_twice_changes_nothing(some: list[Write]) -> None:
    model, follower = new_model(), Follower()
    follower.catch_up(model)
    for wanted in some:
        write(model, wanted)
        follower.catch_up(model)
        before = dict(follower.mirror.items)
        if follower.last is not None:
            assert follower.mirror.receive(read_event(CONFIG_MAPS, json.dumps(follower.last).encode())) is None
        assert follower.mirror.items == before


@given(st.lists(writes(), min_size=1, max_size=20))
def test_a_late_deletion_spares_the_object_that_has_the_name_now(some: list[Write]) -> None:
    model, follower = new_model(), Follower()
    follower.catch_up(model)
    write(model, Write("a", "red", "x"))
    write(model, Write("a", None, ""))
    follower.catch_up(model)
    deletion = follower.last
    assert deletion is not None
    for wanted in (*some, Write("a", "red", "z")):
        write(model, wanted)
    follower.catch_up(model)
    assert follower.mirror.receive(read_event(CONFIG_MAPS, json.dumps(deletion).encode())) is None
    assert follower.mirror.items == held_by(model)


def test_without_a_version_the_objects_stay() -> None:
    model, follower = new_model(), Follower()
    write(model, Write("a", "red", "x"))
    follower.catch_up(model)
    follower.mirror.forget_version()
    assert follower.mirror.resource_version is None
    assert follower.mirror.items.keys() == {"a"}
