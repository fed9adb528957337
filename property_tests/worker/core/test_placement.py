"""A model goes where most is free, then where fewest are."""

from hypothesis import given
from hypothesis import strategies as st

from sie.worker.core.placement import Site, decide_device

sites = st.lists(
    st.builds(Site, st.integers(0, 9), st.just(float("inf")) | st.integers(-5, 5).map(float), st.integers(0, 3)),
    max_size=6,
    unique_by=lambda site: site.number,
)


@given(sites)
def test_no_other_device_has_more_room_or_as_much_and_fewer_models(there: list[Site]) -> None:
    chosen = decide_device(there)
    assert (chosen is None) == (not there)
    for site in there:
        if site.number == chosen:
            assert all((other.free_bytes, -other.models) <= (site.free_bytes, -site.models) for other in there)


@given(sites)
def test_the_order_in_which_devices_are_told_does_not_matter(there: list[Site]) -> None:
    assert decide_device(there) == decide_device(there[::-1])
