"""What a consumer is seen to have taken is not sent again, and all else is (§8.2)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.gateway.core.resending import unseen_items

INDEXES = st.lists(st.integers(0, 9), unique=True)
PLACES = st.dictionaries(st.integers(0, 9), st.integers(1, 20))


@given(INDEXES, PLACES, st.none() | st.integers(0, 20))
def test_an_item_is_seen_where_its_place_was_given(
    missing: list[int], places: dict[int, int], delivered: int | None
) -> None:
    unseen = unseen_items(missing, places, delivered=delivered)
    seen = {index for index in missing if delivered is not None and index in places and places[index] <= delivered}
    assert unseen == tuple(index for index in missing if index not in seen)
