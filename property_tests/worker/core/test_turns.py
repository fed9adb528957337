"""Turns are fair whatever comes, goes and becomes ready; batches are of one kind, in order and within their budget."""

import itertools
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.worker.core.batching import MAX_BATCH_ITEMS, Candidate, Kind, Request, budget_of
from sie.worker.core.turns import Turns

NAMES = ("a", "b", "c")
ALL = frozenset(NAMES)
Row: TypeAlias = tuple[str, str, int, int]
"""Serving id, operation, tokens, and the number of its request."""
rows: st.SearchStrategy[Row] = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(("encode", "score")), st.integers(1, 100), st.integers(0, 4)
)
readies = st.frozensets(st.sampled_from(NAMES))
budget_maps = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 60))
Step: TypeAlias = Row | int | frozenset[str]
"""One that comes; one that goes, by its place; a batch of what is ready."""
histories: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(rows, rows, st.integers(0, 20), readies, st.just(ALL)), min_size=10, max_size=80
)


@attrs.define
class Story:
    """A history played; what waits is in order of arrival."""

    budgets: Mapping[str, int]
    turns: Turns = attrs.field(factory=Turns)
    waiting: list[Candidate] = attrs.field(factory=list)
    orders: Iterator[int] = attrs.field(factory=itertools.count)

    def come(self, row: Row) -> Candidate:
        serving_id, operation, tokens, number = row
        candidate = Candidate(next(self.orders), serving_id, operation, tokens, ("g", f"{number}"))
        self.turns.add(candidate)
        self.waiting.append(candidate)
        return candidate

    def go(self, place: int) -> None:
        if place < len(self.waiting):
            self.turns.remove(self.waiting.pop(place))

    def take(self, ready: frozenset[str]) -> tuple[Candidate, ...]:
        batch = self.turns.take(ready, self.budgets)
        self.waiting = [candidate for candidate in self.waiting if candidate not in batch]
        return batch

    def play(self, history: list[Step]) -> Iterator[tuple[frozenset[str], list[Candidate], tuple[Candidate, ...]]]:
        """Each batch, with what was ready and what waited before it."""
        for step in history:
            if isinstance(step, frozenset):
                before = list(self.waiting)
                yield step, before, self.take(step)
            elif isinstance(step, int):
                self.go(step)
            else:
                self.come(step)

    def batches_before(self, single: Candidate, later: list[Step]) -> Iterator[tuple[Candidate, ...]]:
        """All up to its own, which is cut off where it is; none where it is taken away."""
        for _, before, batch in self.play(later):
            if single not in before:
                return
            if single in batch:
                yield batch[: batch.index(single)]
                return
            yield batch


@given(histories, budget_maps)
def test_a_batch_is_of_one_ready_kind_within_its_budget_and_empty_only_where_nothing_is_ready(
    history: list[Step], budgets: Mapping[str, int]
) -> None:
    for ready, before, batch in Story(budgets).play(history):
        assert bool(batch) == any(candidate.serving_id in ready for candidate in before)
        assert set(batch) <= set(before)
        assert len(set(batch)) == len(batch) <= MAX_BATCH_ITEMS
        assert len({candidate.kind for candidate in batch}) <= 1
        assert {candidate.serving_id for candidate in batch} <= ready
        assert len(batch) <= 1 or sum(c.tokens for c in batch) <= budget_of(batch[0].serving_id, budgets)


@given(histories, budget_maps)
def test_the_items_of_a_request_keep_their_order(history: list[Step], budgets: Mapping[str, int]) -> None:
    for _, before, batch in Story(budgets).play(history):
        for which in {(candidate.kind, candidate.request) for candidate in batch}:
            waited = [c for c in before if (c.kind, c.request) == which]
            went = [c for c in batch if (c.kind, c.request) == which]
            assert went == waited[: len(went)]


@given(histories, budget_maps, st.sampled_from(NAMES))
def test_a_batch_ends_only_where_the_next_does_not_fit_and_that_is_first_in_the_batch_after(
    history: list[Step], budgets: Mapping[str, int], name: str
) -> None:
    story = Story(budgets)
    list(story.play(history))
    last: dict[Kind, tuple[Candidate, ...]] = {}
    while batch := story.take(frozenset({name})):
        if before := last.get(batch[0].kind):
            tokens = sum(c.tokens for c in before) + batch[0].tokens
            assert tokens > budget_of(name, budgets) or len(before) == MAX_BATCH_ITEMS
        last[batch[0].kind] = batch


of_one_kind = st.tuples(st.just("a"), st.just("encode"), st.integers(1, 100), st.integers(0, 2))
bulk_histories: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(of_one_kind, of_one_kind, rows, st.integers(0, 20), st.just(ALL)), min_size=5, max_size=40
)


@given(bulk_histories, of_one_kind, bulk_histories, budget_maps)
def test_each_other_request_gives_at_most_one_item_before_a_single_item_that_waits(
    history: list[Step], row: Row, later: list[Step], budgets: Mapping[str, int]
) -> None:
    """However many of theirs wait or come: so two batches that hold one of each hold the single item too."""
    story = Story(budgets)
    list(story.play(history))
    single = story.come((*row[:3], 99))
    ahead: list[Request] = []
    for batch in story.batches_before(single, later):
        ahead += [c.request for c in batch if c.kind == single.kind and c.request != single.request]
    assert len(ahead) == len(set(ahead))


@given(histories, rows, histories, budget_maps)
def test_each_other_kind_has_at_most_one_batch_before_one_that_waits_and_is_ready(
    history: list[Step], row: Row, later: list[Step], budgets: Mapping[str, int]
) -> None:
    """With one other, that is its own time and one batch, beside what was with the backend before."""
    story = Story(budgets)
    list(story.play(history))
    single = story.come(row)
    served: list[Kind] = []
    for batch in story.batches_before(single, [step if _is_no_batch(step) else ALL for step in later]):
        if batch and batch[0].kind == single.kind:
            return
        served += [c.kind for c in batch[:1]]
    assert len(served) == len(set(served))


@given(histories, budget_maps)
def test_nobody_starves(history: list[Step], budgets: Mapping[str, int]) -> None:
    """Nor does anything stay behind: all that waits goes when all is ready, and what waits is told right until then."""
    story = Story(budgets)
    list(story.play(history))
    for _ in range(len(story.waiting)):
        orders = {c.serving_id: c.order for c in reversed(story.waiting)}
        assert story.turns.oldest() == orders
        assert set(story.turns.serving_ids()) == set(orders)
        story.take(ALL)
    assert not story.waiting
    assert not story.turns.take(ALL, budgets)
    assert not story.turns.oldest()


@given(histories, readies, budget_maps)
def test_the_outlook_is_that_of_the_batch_which_goes(
    history: list[Step], ready: frozenset[str], budgets: Mapping[str, int]
) -> None:
    story = Story(budgets)
    list(story.play(history))
    before = list(story.waiting)
    outlook = story.turns.outlook(ready, budgets)
    batch = story.take(ready)
    assert (outlook is None) == (not batch)
    if outlook is not None:
        alike = [c for c in before if c.kind == outlook.kind]
        assert (outlook.kind, outlook.first) == (batch[0].kind, batch[0])
        assert outlook.items == len(alike)
        budget = budget_of(outlook.kind[0], budgets)
        assert outlook.is_whole == (sum(c.tokens for c in alike) >= budget or len(alike) >= MAX_BATCH_ITEMS)
        assert outlook.is_whole or len(batch) == len(alike)


def _is_no_batch(step: Step) -> bool:
    return not isinstance(step, frozenset)
