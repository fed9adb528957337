"""What runs against a real nats-server taught about it, each rule in the shortest history that shows it."""

from sie.testing.broker.comparing import run_on_model
from sie.testing.broker.steps import (
    AnswerStep,
    ConsumerStep,
    DeleteStep,
    LapseStep,
    PublishStep,
    PullStep,
    ReconnectStep,
    RestartStep,
    Step,
    StreamStep,
)

LAPSE = LapseStep()
INFO = ConsumerStep("INFO", "c", "a.*", 1, 1)
STREAM_INFO = StreamStep("INFO", "", "", 0, "", ages=False)
ONE = PublishStep("a.x", "", 5)


def stream(*, storage: str = "memory", max_msgs: int = -1) -> Step:
    return StreamStep("CREATE", "workqueue", storage, max_msgs, "old", ages=False)


def consumer(name: str = "c", *, takes: str = "a.*", max_deliver: int = 3, max_ack_pending: int = 10) -> Step:
    return ConsumerStep("create", name, takes, max_deliver, max_ack_pending)


def update(name: str = "c", *, takes: str = "a.*", max_deliver: int = 3) -> Step:
    return ConsumerStep("update", name, takes, max_deliver, 10)


def pull(name: str = "c", batch: int = 1, *, stays: bool = False) -> Step:
    return PullStep(name, batch, no_wait=False, stays=stays)


def told(*steps: Step) -> list[str]:
    """The outcomes, without the steps they belong to."""
    return [line.removeprefix(f"{step}: ") for step, line in zip(steps, run_on_model("h", steps), strict=True)]


def test_a_message_tried_often_enough_is_given_up_when_a_pull_comes_to_it() -> None:
    steps = (stream(), consumer(max_deliver=2), ONE, pull(), LAPSE, pull(), LAPSE, INFO, pull())
    *_, second, lapse, info, last = told(*steps)
    assert "try 2" in second
    assert "gave up" not in lapse
    assert '"num_ack_pending": 1' in info
    assert "c gave up 1 after 2" in last


def test_one_that_may_be_delivered_once_is_given_up_by_the_time_alone() -> None:
    assert "c gave up 1 after 1" in told(stream(), consumer(max_deliver=1), ONE, pull(), LAPSE)[-1]


def test_what_was_tried_more_often_than_it_may_be_now_is_given_up_by_the_time_alone() -> None:
    steps = (stream(), consumer(), ONE, pull(), LAPSE, pull(), LAPSE, pull(), update(max_deliver=2), LAPSE)
    assert "c gave up 1 after 3" in told(*steps)[-1]


def test_a_message_given_up_counts_as_redelivered_until_it_is_acked_but_not_where_all_is_delivered_once() -> None:
    once = (stream(), consumer(max_deliver=1), ONE, pull(), LAPSE, INFO, update(), AnswerStep("+ACK", 0), INFO)
    *_, given_up, raised, _, acked = told(*once)
    assert '"num_redelivered": 0' in given_up
    assert '"num_redelivered": 1' in raised
    assert '"num_redelivered": 0' in acked


def test_a_work_queue_keeps_what_another_consumer_came_to_want_meanwhile() -> None:
    one_for_two = (stream(), consumer(takes="*.x"), ONE, pull(), update(takes="b.*"), consumer("d"))
    *_, second = told(*one_for_two, AnswerStep("+ACK", 0), pull("d"))
    assert ".a.x 1 try 1" in second
    *_, left = told(*one_for_two, AnswerStep("+ACK", 0), pull("d"), AnswerStep("+ACK", 1), STREAM_INFO)
    assert '"messages": 0' in left


def test_when_the_oldest_makes_room_the_newest_is_lent_in_its_place_and_counted_right() -> None:
    steps = (
        stream(max_msgs=1),
        consumer(max_ack_pending=1),
        pull(batch=2, stays=True),
        ONE,
        ONE,
        LAPSE,
        INFO,
    )
    *_, lapse, info = told(*steps)
    assert ".a.x 2 try 1 before 0" in lapse
    assert '"num_pending": 0' in info


def test_what_is_lent_where_room_was_made_is_lent_before_the_one_that_came_is_counted() -> None:
    few = ConsumerStep("create", "c", "a.*", 3, 1)
    *_, lapse, info = told(stream(max_msgs=2), few, ONE, ONE, pull(batch=2, stays=True), ONE, LAPSE, INFO)
    assert ".a.x 1 try 1 before 1" in lapse
    assert ".a.x 2 try 1 before 0" in lapse
    assert '"num_pending": 1' in info


def test_a_pull_that_nobody_listens_to_is_dropped_when_the_server_next_finds_nothing_to_lend() -> None:
    """Under the same subject somebody listens again before the count is asked for."""
    nothing_came = (stream(), consumer(), pull(batch=2, stays=True), ReconnectStep(), INFO)
    assert '"num_waiting": 1' in told(*nothing_came)[-1]
    one_came_again = (stream(), consumer(), pull(batch=2, stays=True), ONE, ReconnectStep(), INFO)
    assert '"num_waiting": 0' in told(*one_came_again)[-1]
    one_was_given_up = (stream(), consumer(max_deliver=1), pull(batch=2, stays=True), ONE, ReconnectStep(), INFO)
    assert '"num_waiting": 1' in told(*one_was_given_up)[-1]


def test_progress_on_what_is_to_come_later_brings_it_back_after_an_ack_wait() -> None:
    late = (stream(), consumer(), ONE, pull(), AnswerStep("-NAK later", 0))
    assert "408" in told(*late, LAPSE, pull())[-1]
    assert ".a.x 1 try 2" in told(*late, AnswerStep("+WPI", 0), LAPSE, pull())[-1]


def test_what_was_lent_under_another_filter_is_forgotten_at_the_next_look_after_it_left() -> None:
    aged = StreamStep("CREATE", "workqueue", "memory", -1, "old", ages=True)
    lent = (aged, consumer(), ONE, pull(), update(takes="b.*"))
    assert '"num_ack_pending": 1' in told(*lent, INFO)[-1]
    assert '"num_ack_pending": 0' in told(*lent, LAPSE, INFO)[-1]


def test_another_filter_is_served_when_something_else_happens() -> None:
    steps = (stream(), consumer(takes="b.*"), pull(batch=2, stays=True), ONE, update(), INFO, ONE, LAPSE)
    *_, info, _, lapse = told(*steps)
    assert '"num_pending": 1, "num_redelivered": 0, "num_waiting": 1' in info
    assert ".a.x 1 try 1" in lapse
    assert ".a.x 2 try 1" in lapse


def test_a_raised_max_ack_pending_is_made_use_of_after_the_answer() -> None:
    few = ConsumerStep("create", "c", "a.*", 3, 1)
    *_, answer, info, lapse = told(stream(), few, pull(batch=2, stays=True), ONE, ONE, update(), INFO, LAPSE)
    assert '"num_ack_pending": 1, "num_pending": 1' in answer
    assert '"num_ack_pending": 2, "num_pending": 0' in info
    assert ".a.x 2 try 1" in lapse


def test_a_longer_window_brings_back_no_message_id() -> None:
    aged = StreamStep("CREATE", "workqueue", "memory", -1, "old", ages=True)
    ageless = StreamStep("UPDATE", "workqueue", "memory", -1, "old", ages=False)
    again = PublishStep("a.x", "i", 5)
    assert '"seq": 2' in told(aged, again, LAPSE, ageless, again)[-1]


def test_a_server_that_ends_says_so_once_to_each_reply_subject() -> None:
    steps = (stream(), consumer(), pull(batch=1, stays=True), pull(batch=4, stays=True), RestartStep())
    assert told(*steps)[-1].startswith("stayed ['409 Server Shutdown 4'] ")


def test_the_first_update_after_a_start_is_told_what_the_server_saw_when_it_started() -> None:
    steps = (stream(storage="file"), consumer(takes="*.x"), ONE, PublishStep("b.x", "", 5), RestartStep())
    *_, first, info = told(*steps, update(takes="a.*"), INFO)
    assert '"num_pending": 2' in first
    assert '"num_pending": 1' in info


def test_what_was_passed_over_before_a_restart_is_looked_at_again_under_another_filter() -> None:
    passed = (stream(storage="file"), consumer(takes="b.*"), ONE, pull())
    assert "408" in told(*passed, update(takes="a.*"), pull())[-1]
    assert ".a.x 1 try 1" in told(*passed, RestartStep(), update(takes="a.*"), pull())[-1]


def test_a_restart_forgets_what_is_in_memory_and_keeps_what_was_lent_on_disk() -> None:
    assert "stream not found" in told(stream(), RestartStep(), STREAM_INFO)[-1]
    assert "try 2" in told(stream(storage="file"), consumer(), ONE, pull(), RestartStep(), pull())[-1]


def test_what_cannot_be_deleted_on_disk_is_told_by_where_it_lay() -> None:
    steps = (stream(storage="file"), ONE, ONE, ONE, DeleteStep(2), DeleteStep(2), DeleteStep(1), DeleteStep(1))
    *_, inside, _, before = told(*steps)
    assert ("10043" in inside, "10057" in before) == (True, True)
    assert "stream store EOF" in told(*steps, DeleteStep(9))[-1]


def test_what_cannot_be_deleted_in_memory_is_told_by_its_number_alone() -> None:
    for line in told(stream(), ONE, DeleteStep(1), DeleteStep(1), DeleteStep(9))[3:]:
        assert "10043" in line
