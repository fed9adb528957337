"""Through any deaths: every request lands exactly once, only the guilty are given up, models come before batches."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.wire.ipc import EncodeBatch, Failed, Finished, LoadModel, Request
from sie.worker.core.flights import BATCH_LIMIT_S, MAX_BATCHES, MAX_DEATHS, Flights, GivenUp, Landing

MODELS = ("a", "b")
steps = st.lists(st.tuples(st.sampled_from(("batch", "send", "answer", "die")), st.integers(0, 3)), max_size=60)


def load(serving_id: str) -> LoadModel:
    return LoadModel(id=0, serving_id=serving_id, adapter_path="m:A", model_id=serving_id)


def batch(serving_id: str) -> EncodeBatch:
    return EncodeBatch(id=0, serving_id=serving_id, items=())


@attrs.define
class Child:
    """A child that has what was sent to it and answers when told."""

    has: list[Request] = attrs.field(factory=list)
    loaded: set[str] = attrs.field(factory=set)

    def take(self, request: Request) -> None:
        assert isinstance(request, LoadModel) or request.serving_id in self.loaded, "its model is not here"
        self.has.append(request)
        assert sum(isinstance(one, EncodeBatch) for one in self.has) <= MAX_BATCHES

    def answer(self) -> Finished:
        request = self.has.pop(0)
        if isinstance(request, LoadModel):
            self.loaded.add(request.serving_id)
        return Finished(id=request.id)


def drain(flights: Flights, child: Child) -> list[Landing]:
    landed: list[Landing] = []
    while len(flights):
        while (request := flights.next_to_send(0.0)) is not None:
            child.take(request)
        assert child.has, "nothing moves any more"
        landed += flights.land(child.answer())
    return landed


@given(steps)
def test_every_batch_lands_exactly_once_through_any_deaths(history: list[tuple[str, int]]) -> None:
    flights, child, asked, landed = Flights(), Child(), set[int](), list[Landing]()
    for name in MODELS:
        flights.add(load(name))
    landed += drain(flights, child)
    for step, number in history:
        if step == "batch" and flights.knows(MODELS[number % 2]):
            asked.add(flights.add(batch(MODELS[number % 2])))
        elif step == "send" and (request := flights.next_to_send(0.0)) is not None:
            child.take(request)
        elif step == "answer" and child.has:
            landed += flights.land(child.answer())
        elif step == "die":
            child = Child()
            landed += flights.die()
    landed += drain(flights, child)
    ids = [landing.request.id for landing in landed if isinstance(landing.request, EncodeBatch)]
    assert sorted(ids) == sorted(asked)
    assert all(landing.answer.id == landing.request.id for landing in landed)


@given(st.integers(1, 6), st.integers(0, 5))
def test_one_poisonous_batch_never_takes_a_neighbour_with_it(count: int, poisonous: int) -> None:
    flights, landed, deaths = Flights(), list[Landing](), 0
    flights.add(load("a"))
    ids = [flights.add(batch("a")) for _ in range(count)]
    poison = ids[poisonous % count]
    child = Child()
    while len(flights):
        while (request := flights.next_to_send(0.0)) is not None:
            child.take(request)
        if child.has[0].id == poison:
            child, deaths = Child(), deaths + 1
            landed += flights.die()
        else:
            landed += flights.land(child.answer())
    failed = [landing.request.id for landing in landed if isinstance(landing.answer, Failed)]
    assert failed == [poison]
    assert deaths == MAX_DEATHS
    assert [type(landing.answer) for landing in landed if landing.request.id == poison] == [GivenUp]


@given(st.integers(0, 5))
def test_what_waits_for_a_model_that_kills_every_child_is_not_given_up_as_poison(count: int) -> None:
    flights, landed = Flights(), list[Landing]()
    flights.add(load("a"))
    ids = [flights.add(batch("a")) for _ in range(count)]
    for _ in range(MAX_DEATHS):
        flights.next_to_send(0.0)
        landed += flights.die()
    assert [landing.request.id for landing in landed if isinstance(landing.request, EncodeBatch)] == ids
    assert {type(landing.answer) for landing in landed} == {Failed}


@given(st.integers(0, 5))
def test_a_load_that_fails_lands_all_that_waited_for_it(count: int) -> None:
    flights = Flights()
    flights.add(load("b"))
    number = flights.add(load("a"))
    ids = [flights.add(batch("a")) for _ in range(count)]
    flights.land(Finished(id=1))
    landed = flights.land(Failed(id=number, error_code="MODEL_LOAD_FAILED", error="no"))
    assert [landing.request.id for landing in landed] == [number, *ids]
    assert all(isinstance(landing.answer, Failed) for landing in landed)
    assert not flights.knows("a")
    assert flights.knows("b")
    assert len(flights) == 0


@given(st.floats(0, 1000))
def test_a_batch_is_overdue_only_while_a_child_has_had_it_for_too_long(now_s: float) -> None:
    flights = Flights()
    flights.add(load("a"))
    assert not flights.is_overdue(now_s)
    assert flights.next_to_send(0.0) is not None
    flights.land(Finished(id=1))
    flights.add(batch("a"))
    assert not flights.is_overdue(now_s)
    flights.next_to_send(0.0)
    assert flights.is_overdue(now_s) == (now_s > BATCH_LIMIT_S)
    flights.die()
    assert not flights.is_overdue(now_s)


@given(st.integers())
def test_an_answer_to_nothing_lands_nothing(number: int) -> None:
    assert Flights().land(Finished(id=number)) == []
