"""The supervisor of the backend child, against children that are scripts behind real frames; the clock jumps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
import trio.testing

from sie.wire.ipc import EncodeBatch, EncodeItem, Failed, Finished, Hello, LoadModel, ModelUpdate
from sie.worker.children import Child, open_child
from sie.worker.core.flights import BATCH_LIMIT_S, Answer, Crashed, Left
from sie.worker.core.state import ChildEvent, Died, LoadEnded, Unloaded
from tests.worker.doubles import MODEL, Peer, Script, ScriptedLaunch, serve

LOAD = LoadModel(id=0, serving_id=MODEL, adapter_path="acme:Small", model_id=MODEL)


def item(text: str) -> EncodeItem:
    return EncodeItem(item={"text": text})


async def die_at_a_batch(peer: Peer) -> None:
    await peer.greet()
    while (request := await peer.hear()) is not None and not isinstance(request, EncodeBatch):
        assert isinstance(request, LoadModel)
        await peer.say(Finished(id=request.id))


async def die_of_poison(peer: Peer) -> None:
    async def on_batch(batch: EncodeBatch) -> None:
        if any(item.item["text"] == "poison" for item in batch.items):
            await trio.sleep(1)
            await peer.stream.aclose()

    try:
        await peer.serve(on_batch)
    except trio.ClosedResourceError:
        return


async def hang_at_a_batch(peer: Peer) -> None:
    async def on_batch(_: EncodeBatch) -> None:
        await trio.sleep_forever()

    await peer.serve(on_batch)


async def babble(peer: Peer) -> None:
    await peer.stream.send_all(b"\xff\xff\xff\xff")


async def fail_to_load(peer: Peer) -> None:
    await peer.greet()
    request = await peer.hear()
    assert isinstance(request, LoadModel)
    await peer.say(Failed(id=request.id, error_code="MODEL_LOAD_FAILED", error="no weights"))
    await peer.hear()


@asynccontextmanager
async def child_of(*scripts: Script) -> AsyncIterator[tuple[Child, list[ChildEvent], ScriptedLaunch]]:
    events: list[ChildEvent] = []
    launch = ScriptedLaunch(scripts)
    async with open_child(launch, events.append) as child:
        child.load_nowait(LOAD)
        yield child, events, launch


def texts(answer: Answer) -> list[bytes | None]:
    assert isinstance(answer, Finished)
    return [outcome.result_msgpack for outcome in answer.outcomes]


async def test_a_batch_is_answered_with_its_own_outcomes_in_order(autojump_clock: trio.testing.MockClock) -> None:
    async with child_of(serve) as (child, events, _):
        assert texts(await child.encode(MODEL, (item("a"), item("b")))) == [b"a", b"b"]
    assert [type(event) for event in events] == [Hello, ModelUpdate, LoadEnded]


async def test_a_batch_that_was_with_a_dying_child_crashed_and_the_next_one_loads_the_model_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with child_of(die_at_a_batch, serve) as (child, events, launch):
        assert isinstance(await child.encode(MODEL, (item("a"),)), Crashed)
        assert texts(await child.encode(MODEL, (item("a"),), alone=True)) == [b"a"]
    assert launch.launched == 2
    kinds = [type(event) for event in events if not isinstance(event, ModelUpdate)]
    assert kinds == [Hello, LoadEnded, Died, Hello, LoadEnded]


async def test_a_batch_that_was_not_with_the_dying_child_is_answered_by_the_next_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answers: dict[str, Answer] = {}

    async def ask(child: Child, text: str) -> None:
        answers[text] = await child.encode(MODEL, (item(text),), alone=True)

    async with child_of(die_of_poison) as (child, _, launch), trio.open_nursery() as nursery:
        nursery.start_soon(ask, child, "poison")
        await trio.sleep(0.5)
        nursery.start_soon(ask, child, "good")
    assert isinstance(answers["poison"], Crashed)
    assert texts(answers["good"]) == [b"good"]
    assert launch.launched == 2


async def test_a_child_that_owes_an_answer_for_too_long_is_replaced(autojump_clock: trio.testing.MockClock) -> None:
    async with child_of(hang_at_a_batch, serve) as (child, _, launch):
        assert isinstance(await child.encode(MODEL, (item("a"),)), Crashed)
        assert trio.current_time() > BATCH_LIMIT_S
        assert texts(await child.encode(MODEL, (item("a"),))) == [b"a"]
    assert launch.launched == 2


async def test_a_model_is_unloaded_after_its_batches_and_takes_no_more(autojump_clock: trio.testing.MockClock) -> None:
    answers: list[Answer] = []

    async def ask(child: Child) -> None:
        answers.append(await child.encode(MODEL, (item("a"),)))

    async with child_of(serve) as (child, events, _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, child)
            await trio.testing.wait_all_tasks_blocked()
            child.unload_nowait(MODEL)
            assert isinstance(await child.encode(MODEL, (item("b"),)), Left)
        await child.unload(MODEL)
    assert [texts(answer) for answer in answers] == [[b"a"]]
    assert events.count(Unloaded(MODEL)) == 2


async def test_a_child_that_does_not_speak_the_protocol_is_replaced(autojump_clock: trio.testing.MockClock) -> None:
    async with child_of(babble, serve) as (child, _, launch):
        assert texts(await child.encode(MODEL, (item("a"),))) == [b"a"]
    assert launch.launched == 2


async def test_children_that_die_at_once_are_restarted_ever_more_slowly(autojump_clock: trio.testing.MockClock) -> None:
    async with child_of(babble) as (_, _, launch):
        await trio.sleep(100)
    assert 10 < launch.launched < 20


async def test_a_load_that_fails_fails_the_batches_behind_it_and_is_told(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with child_of(fail_to_load) as (child, events, _):
        answer = await child.encode(MODEL, (item("a"),))
        assert isinstance(answer, Failed)
        assert answer.error == "no weights"
        ended = [event for event in events if isinstance(event, LoadEnded)]
        assert [event.serving_id for event in ended] == [MODEL]
        later = await child.encode(MODEL, (item("a"),))
        assert isinstance(later, Failed)
        assert not later.permanent
