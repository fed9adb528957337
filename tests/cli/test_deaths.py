"""When a dead process is started again, and when the start of the system is given up."""

from sie.cli.deaths import AT_ONCE_S, Deaths, GiveUp, Restart


def test_a_process_that_keeps_dying_at_once_waits_longer_each_time_up_to_a_cap() -> None:
    deaths = Deaths()
    delays = [deaths.judge(0.1, "running") for _ in range(8)]
    assert delays == [Restart(s) for s in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0)]


def test_the_fifth_death_at_once_in_a_row_ends_a_start() -> None:
    deaths = Deaths()
    verdicts = [deaths.judge(0.1, "starting") for _ in range(5)]
    assert verdicts[:4] == [Restart(0.25), Restart(0.5), Restart(1.0), Restart(2.0)]
    assert verdicts[4] == GiveUp()


def test_a_long_life_starts_the_count_and_the_pauses_anew() -> None:
    deaths = Deaths()
    for _ in range(4):
        deaths.judge(0.1, "starting")
    assert deaths.judge(AT_ONCE_S, "starting") == Restart(0.25)
    assert deaths.judge(0.1, "starting") == Restart(0.5)


def test_a_system_that_was_ready_is_never_given_up() -> None:
    deaths = Deaths()
    assert all(isinstance(deaths.judge(0.1, "running"), Restart) for _ in range(50))
