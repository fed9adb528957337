"""What is on a device, what it takes and when it worked: each model in one place, sums that hold, a budget as set."""

from hypothesis import given
from hypothesis import strategies as st

from sie.worker.core.eviction import NO_WORK
from sie.worker.core.memory import USABLE, Memory

NAMES = ("a", "b", "c", "d")
STEPS = ("place", "remove", "size", "begin", "end", "up", "down")
histories = st.lists(
    st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES), st.integers(0, 2), st.integers(0, 100)), max_size=60
)


@given(histories)
def test_each_model_is_in_one_place_and_its_bytes_are_counted_there(
    history: list[tuple[str, str, int, int]],
) -> None:
    memory, where, sizes = Memory(3, 1000), dict[str, int](), dict[str, int]()
    for step, name, device, number in history:
        match step:
            case "place":
                memory.place(name, device, now_s=number)
                where[name] = device
            case "remove":
                memory.remove(name)
                where.pop(name, None)
            case "size":
                memory.learn_size(name, number)
                sizes[name] = number
            case _:
                continue
        assert memory.used_bytes == sum(sizes.get(name, 0) for name in where)
        for one in range(3):
            here = [resident for resident, place in where.items() if place == one]
            assert sorted(memory.on(one)) == sorted(here)
            for resident in here:
                others = sum(sizes.get(other, 0) for other in here if other != resident)
                assert memory.room_bytes(resident) == max(0, 1000 - others)


@given(histories)
def test_a_new_model_goes_to_a_device_that_is_up_and_has_most_free(history: list[tuple[str, str, int, int]]) -> None:
    memory, up = Memory(3, 1000), set[int]()
    for step, name, device, number in history:
        match step:
            case "up":
                memory.come_up(device)
                up.add(device)
            case "down":
                memory.go_down(device)
                up.discard(device)
            case "place":
                memory.learn_size(name, number)
                memory.place(name, device, now_s=0)
            case _:
                continue
        chosen = memory.find_device("new")
        assert (chosen is None) == (not up)
        if chosen is not None:
            assert chosen in up
            used = {d: sum(map(memory.size_of, memory.on(d))) for d in up}
            assert used[chosen] == min(used.values())
        assert memory.has_other(device) == bool(up - {device})


@given(histories)
def test_a_model_runs_as_many_batches_as_began_and_did_not_end(history: list[tuple[str, str, int, int]]) -> None:
    memory, running, ran = Memory(), dict.fromkeys(NAMES, 0), set[str]()
    for name in NAMES:
        memory.place(name, 0, now_s=0)
    for step, name, _, number in history:
        if step == "begin":
            memory.begin(name, now_s=number)
            running[name] += 1
        elif step == "end" and running[name]:
            memory.end(name)
            running[name] -= 1
            ran.add(name)
    assert memory.running_on(0) == sum(running.values())
    there = memory.residents(0, besides="a", kept={"b"}, fixed={"c"}, leaving=(), waiting={"d": 3.0})
    assert {one.serving_id: one.is_running for one in there} == {n: running[n] > 0 for n in NAMES if n != "a"}
    assert {one.serving_id for one in there if one.has_run} == ran - {"a"}
    assert [one.serving_id for one in there if one.is_kept] == ["b"]
    assert [one.waiting for one in there] == [NO_WORK, NO_WORK, 3.0]


@given(st.none() | st.integers(1, 10**12), st.integers(0, 10**12), st.integers(1, 4))
def test_the_budget_is_what_was_set_or_a_part_of_what_there_is(limit: int | None, total: int, sharing: int) -> None:
    memory = Memory(sharing, limit, sharing)
    for number in range(sharing):
        memory.learn_device(number, total)
    budget = memory.budget_bytes(0)
    if limit is not None:
        assert budget == limit
    else:
        assert budget == (int(total / sharing * USABLE) if total else None)
        assert memory.total_bytes <= total


@given(st.integers(1, 100))
def test_a_size_is_known_until_it_is_forgotten(size: int) -> None:
    memory = Memory()
    memory.learn_size("a", size)
    assert memory.size_of("a") == size
    memory.forget_size("a")
    assert memory.size_of("a") == 0
    assert memory.device_of("a") == 0
