"""The pure parts of `ci/bench convergence`: which gaps count to a catching up, and what a round of deltas comes to."""

import trio

from ci.lib.bench_config_models import model_id
from ci.lib.bench_convergence_beats import beat
from ci.lib.bench_convergence_bootstrap import SETTLED_S, gap_figures, spell
from ci.lib.bench_convergence_delta import delta, one_round, syncing_with
from sie.domain.convergence import Trust
from sie.gateway.sync.deltas import Deltas
from sie.wire.heartbeat import decode_heartbeat
from sie.wire.notification import decode_notification


def test_only_gaps_that_end_in_a_catching_up_or_just_after_it_count() -> None:
    gaps = [(9.9, 0.5), (10.5, 0.011), (11.0 + SETTLED_S / 2, 0.021), (11.0 + 2 * SETTLED_S, 0.7)]
    taken = spell((10.0, 11.0), gaps)
    assert (taken.took_s, taken.longest_ms, taken.over) == (1.0, 21.0, 1)


def test_the_first_and_the_later_catchings_up_have_a_figure_each() -> None:
    first, again = spell((0.0, 1.0), [(0.5, 0.03)]), spell((2.0, 3.0), [])
    figures = list(gap_figures([(first, again), (first, again)]))
    assert [(figure.name, figure.value, figure.holds) for figure in figures] == [
        ("longest_gap_first", 30.0, False),
        ("longest_gap_again", 0.0, True),
    ]


def test_a_round_of_deltas_adds_each_once() -> None:
    applying = Deltas(syncing_with(3), Trust())
    taken = trio.run(one_round, applying, [3, 4])
    assert taken.new_ms > 0
    assert taken.repeat_ms > 0
    assert applying.syncing.replica.deltas == {"accepted": 4}
    assert decode_notification(delta(4)).model_id == model_id(4)


def test_a_prepared_beat_is_one_that_the_gateway_reads() -> None:
    head, _, data = beat(7).partition(b"\r\n")
    status = decode_heartbeat(data.removesuffix(b"\r\n"))
    assert head == b"PUB sie.health.worker-7 %d" % (len(data) - 2)
    assert (status.worker, status.takes_work, len(status.models)) == ("worker-7", True, 3)
