"""However late, doubled and mixed up a bucket's words come, what was told of it is in the end what it holds."""

import attrs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from sie.bus.key_value_api import BucketState, Entry
from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec
from sie.gateway.core.pool_documents import write_pool_text
from sie.gateway.core.pool_keys import pool_in
from sie.gateway.core.pool_revisions import NOWHERE, Change, Gone, Kept, PoolRevisions, Spoiled, is_behind

KEYS = ("a", "b_", "c-", "No")
PLAIN = st.sampled_from(("pool", "gone", "spoiled"))
STATE = BucketState("first", 0, markers_fade=True)


def pool(key: str, revision: int) -> Pool:
    return Pool(PoolSpec(PoolName(key)), 1.0, float(revision))


def entry(key: str, revision: int, kind: str) -> Entry:
    values = {"pool": write_pool_text(pool(key, revision)), "gone": None, "spoiled": b"{"}
    return Entry(key, revision, values[kind])


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    kinds = draw(st.lists(st.tuples(st.sampled_from(KEYS), PLAIN), max_size=12))
    return [entry(key, number, kind) for number, (key, kind) in enumerate(kinds, 1)]


def held(history: list[Entry]) -> dict[str, Pool]:
    """What the bucket holds at the end; under `No` no pool, as names are kept in lower case."""
    last = {written.key: pool_in(written) for written in history}
    return {key: kept for key, kept in last.items() if kept is not None}


@attrs.define
class Ear:
    """A listener, by what the changes say."""

    pools: dict[str, Pool] = attrs.field(factory=dict)
    news: list[str] = attrs.field(factory=list)

    def hear(self, change: Change | None) -> None:
        match change:
            case Kept(kept):
                self.pools[kept.spec.name] = kept
            case Gone(name):
                self.pools.pop(name, None)
            case Spoiled(key, name, _, is_news):
                if name is not None:
                    self.pools.pop(name, None)
                if is_news:
                    self.news.append(key)
            case None:
                pass


@given(histories(), st.data())
def test_words_in_any_order_leave_the_newest(history: list[Entry], data: DataObject) -> None:
    revisions, ear = PoolRevisions(), Ear()
    for heard in data.draw(st.permutations(history)):
        ear.hear(revisions.receive(heard))
        assert revisions.receive(heard) is None
    assert ear.pools == held(history)
    assert revisions.newest == len(history)
    for key, kept in ear.pools.items():
        known = revisions.known(key)
        assert known is not None
        assert known.pool == kept


@given(st.lists(PLAIN, min_size=1, max_size=9))
def test_nonsense_is_news_once_until_it_is_mended(kinds: list[str]) -> None:
    revisions, ear = PoolRevisions(), Ear()
    for number, kind in enumerate(kinds, 1):
        ear.hear(revisions.receive(entry("a", number, kind)))
    stretches = sum(kind == "spoiled" != before for before, kind in zip(["pool", *kinds], kinds, strict=False))
    assert len(ear.news) == stretches


@given(histories(), st.data())
def test_what_was_missed_is_mended_by_a_listing(history: list[Entry], data: DataObject) -> None:
    """Of any words heard, and keys purged without a word, a listing makes what the bucket holds."""
    revisions, ear = PoolRevisions(), Ear()
    for heard in data.draw(st.lists(st.sampled_from(history), max_size=9)) if history else ():
        ear.hear(revisions.receive(heard))
    purged = data.draw(st.frozensets(st.sampled_from(KEYS)))
    left = {written.key: written for written in history if written.key not in purged}
    for there in left.values():
        ear.hear(revisions.receive(there))
    for gone in revisions.listed(frozenset(left), len(history)):
        ear.hear(gone)
    assert ear.pools == held(list(left.values()))
    assert all(revisions.known(key) is None for key in purged)


@given(histories())
def test_a_listing_says_nothing_of_what_came_after_it_began(history: list[Entry]) -> None:
    revisions = PoolRevisions()
    for heard in history:
        revisions.receive(heard)
    assert revisions.listed(frozenset(), NOWHERE) == ()


@given(histories(), histories())
def test_pools_of_a_lost_bucket_are_known_until_the_next_one_says_otherwise(
    history: list[Entry], after: list[Entry]
) -> None:
    revisions = PoolRevisions()
    assert not revisions.adopt(STATE, revisions.newest)
    for heard in history:
        revisions.receive(heard)
    known = held(history)
    assert not revisions.adopt(attrs.evolve(STATE, last_revision=len(history)), revisions.newest)
    assert revisions.adopt(attrs.evolve(STATE, created="second"), revisions.newest)
    assert revisions.generation == 1
    assert {kept.spec.name: kept for kept in revisions.lost} == known
    for key in known:
        found = revisions.known(key)
        assert found is not None
        assert (found.revision, is_behind(found, None)) == (NOWHERE, True)
        assert not is_behind(found, entry(key, 1, "pool"))
    for heard in after:
        revisions.receive(heard)
    assert {kept.spec.name for kept in revisions.lost} == set(known) - {heard.key for heard in after}


@given(histories().filter(bool), st.integers(0, 20))
def test_a_bucket_that_fell_behind_is_another(history: list[Entry], last: int) -> None:
    revisions = PoolRevisions()
    revisions.adopt(STATE, revisions.newest)
    for heard in history:
        revisions.receive(heard)
    state = attrs.evolve(STATE, last_revision=last)
    assert revisions.adopt(state, revisions.newest) == (last < len(history))


@given(st.integers(1, 9), st.integers(1, 9), PLAIN, PLAIN)
def test_what_is_read_is_behind_only_where_it_is_older_than_what_was_known(
    known_at: int, read_at: int, known_kind: str, read_kind: str
) -> None:
    revisions = PoolRevisions()
    assert not is_behind(revisions.known("a"), None)
    assert not is_behind(revisions.known("a"), entry("a", read_at, read_kind))
    revisions.receive(entry("a", known_at, known_kind))
    known = revisions.known("a")
    assert is_behind(known, entry("a", read_at, read_kind)) == (read_at < known_at)
    assert is_behind(known, None) == (known_kind == "pool")
