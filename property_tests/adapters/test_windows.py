"""Windows answer for each token once, in order, and show it what is around it."""

from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.windows import plan_windows


@given(st.integers(0, 400), st.data())
def test_every_token_is_kept_once_in_order_within_a_window_that_fits(tokens: int, data: st.DataObject) -> None:
    room = data.draw(st.integers(2, 60))
    overlap = data.draw(st.integers(0, room // 2))
    windows = plan_windows(tokens, room=room, overlap=overlap)
    kept = [token for window in windows for token in range(window.kept_from, window.kept_to)]
    assert kept == list(range(tokens))
    for window in windows:
        assert window.start <= window.kept_from <= window.kept_to <= window.end <= tokens
        assert window.end - window.start <= room


@given(st.integers(0, 400), st.data())
def test_a_token_sees_half_the_overlap_on_both_sides_where_the_text_has_it(tokens: int, data: st.DataObject) -> None:
    room = data.draw(st.integers(2, 60))
    overlap = data.draw(st.integers(0, room // 2))
    for window in plan_windows(tokens, room=room, overlap=overlap):
        assert window.start == 0 or window.kept_from - window.start >= overlap // 2
        assert window.end == tokens or window.end - window.kept_to >= overlap // 2
