"""Through any deaths: every request lands exactly once, the suspect go alone, models come before batches."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.wire.ipc import EncodeBatch, Failed, Finished, LoadModel, Request, UnloadModel
from sie.worker.core.flights import BATCH_LIMIT_S, MAX_BATCHES, MAX_DEATHS, Crashed, Flights, Landing, Left, given_up

MODELS = ("a", "b")
STEPS = ("batch", "alone", "send", "answer", "die", "load", "unload", "abandon")
steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=60)


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
        assert not isinstance(request, EncodeBatch) or request.serving_id in self.loaded, "its model is not here"
        leaving = [one.serving_id for one in self.has if isinstance(one, UnloadModel)]
        assert request.serving_id not in leaving
        if isinstance(request, UnloadModel):
            assert all(one.serving_id != request.serving_id for one in self.has)
        self.has.append(request)
        assert sum(isinstance(one, EncodeBatch) for one in self.has) <= MAX_BATCHES
        assert sum(not isinstance(one, EncodeBatch) for one in self.has) <= 1

    def answer(self) -> Finished:
        request = self.has.pop(0)
        if isinstance(request, LoadModel):
            self.loaded.add(request.serving_id)
        elif isinstance(request, UnloadModel):
            self.loaded.discard(request.serving_id)
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
def test_every_request_lands_exactly_once_through_any_deaths(history: list[tuple[str, int]]) -> None:
    flights, child, asked, landed = Flights(), Child(), set[int](), list[Landing]()
    asked |= {flights.add(load(name)) for name in MODELS}
    landed += drain(flights, child)
    for step, number in history:
        name = MODELS[number % 2]
        match step:
            case "batch" | "alone" if flights.knows(name):
                asked.add(flights.add(batch(name), alone=step == "alone"))
            case "load" if not flights.knows(name):
                asked.add(flights.add(load(name)))
            case "unload" if flights.knows(name):
                asked.add(flights.add(UnloadModel(id=0, serving_id=name)))
            case "send" if (request := flights.next_to_send(0.0)) is not None:
                child.take(request)
            case "answer" if child.has:
                landed += flights.land(child.answer())
            case "die" | "abandon":
                child = Child()
                landed += flights.die()
                landed += flights.abandon() if step == "abandon" else []
            case _:
                continue
    landed += drain(flights, child)
    ids = [landing.request.id for landing in landed if not isinstance(landing.request, LoadModel)]
    assert len(ids) == len(set(ids))
    assert asked <= {landing.request.id for landing in landed}
    assert all(landing.answer.id == landing.request.id for landing in landed)


@given(st.integers(1, 6), st.integers(0, 5))
def test_a_batch_that_was_with_a_dying_child_crashed_and_the_others_wait_for_the_next(
    count: int, answered: int
) -> None:
    flights, child = Flights(), Child()
    flights.add(load("a"))
    drain(flights, child)
    ids = [flights.add(batch("a")) for _ in range(count)]
    answered = min(answered, count - 1)
    for _ in range(answered):
        while (request := flights.next_to_send(0.0)) is not None:
            child.take(request)
        flights.land(child.answer())
    while (request := flights.next_to_send(0.0)) is not None:
        child.take(request)
    with_it = [request.id for request in child.has]
    crashed = flights.die()
    assert [landing.request.id for landing in crashed] == with_it
    assert all(isinstance(landing.answer, Crashed) for landing in crashed)
    later = drain(flights, Child())
    batches = [landing.request.id for landing in later if isinstance(landing.request, EncodeBatch)]
    assert batches == ids[answered + len(with_it) :]


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_what_goes_alone_has_nothing_beside_it(alone: list[bool]) -> None:
    flights, child = Flights(), Child()
    flights.add(load("a"))
    drain(flights, child)
    numbers = [flights.add(batch("a"), alone=one) for one in alone]
    suspects = {number for number, one in zip(numbers, alone, strict=True) if one}
    flights.add(load("b"))
    while len(flights):
        while (request := flights.next_to_send(0.0)) is not None:
            child.take(request)
        with_it = {request.id for request in child.has}
        assert len(with_it) == 1 or not with_it & suspects
        flights.land(child.answer())


@given(st.integers(0, 4), st.booleans())
def test_a_model_leaves_after_its_last_batch_and_takes_no_more(count: int, dies: bool) -> None:
    flights, child = Flights(), Child()
    flights.add(load("a"))
    drain(flights, child)
    ids = [flights.add(batch("a")) for _ in range(count)]
    unload = flights.add(UnloadModel(id=0, serving_id="a"))
    assert not flights.knows("a")
    landed: list[Landing] = []
    if dies:
        while (request := flights.next_to_send(0.0)) is not None:
            child.take(request)
        child = Child()
        landed += flights.die()
        assert len(flights) == 0
        kinds = {landing.request.id: type(landing.answer) for landing in landed}
        assert all(kinds[number] in (Crashed, Left) for number in ids)
    landed += drain(flights, child)
    assert {landing.request.id for landing in landed} == {*ids, unload}
    assert child.loaded == set()


@given(st.text())
def test_what_is_given_up_is_named(name: str) -> None:
    assert name in given_up(name).error


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
