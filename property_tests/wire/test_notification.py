"""A delta reads back as it was written, whatever is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.wire.converters import WireError
from sie.wire.notification import ConfigNotification, decode_notification, encode_notification

names = st.text(min_size=1, max_size=20)
notifications = st.builds(
    ConfigNotification,
    router_id=names,
    bundle_id=names,
    epoch=st.integers(0, 2**53),
    bundle_config_hash=st.text("0123456789abcdef", max_size=64),
    model_id=names,
    profiles_added=st.lists(names, max_size=3).map(tuple),
    model_config=st.text(max_size=200),
    affected_bundles=st.lists(names, max_size=3).map(tuple),
    pool=names,
    bundle_pool_config_hashes=st.dictionaries(names, st.dictionaries(names, names, max_size=2), max_size=2),
    bundle_adapters=st.dictionaries(names, st.lists(names, max_size=2).map(tuple), max_size=2),
    producer_id=st.text(max_size=5),
)


@given(notifications)
def test_a_notification_survives_the_wire(notification: ConfigNotification) -> None:
    assert decode_notification(encode_notification(notification)) == notification


@given(st.binary(max_size=200))
def test_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    try:
        decode_notification(data)
    except WireError:
        return
    pytest.fail("garbage was taken for a notification")
