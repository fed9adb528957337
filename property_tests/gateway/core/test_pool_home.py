"""Settings name one place for pools, or are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.gateway.core.pool_home import InBucket, InCluster, InProcess, InvalidHome, pool_home

BUCKETS = st.text("aZ0_-", min_size=1, max_size=9)


@given(BUCKETS, st.booleans(), st.none() | st.just("sie"))
def test_pools_have_one_place(bucket: str, kubernetes: bool, namespace: str | None) -> None:
    alone = pool_home(bucket=None, kubernetes=kubernetes, namespace=namespace)
    assert alone == (InCluster(namespace) if kubernetes else InProcess())
    if kubernetes:
        with pytest.raises(InvalidHome, match="exclude each other"):
            pool_home(bucket=bucket, kubernetes=True, namespace=namespace)
    else:
        assert pool_home(bucket=bucket, kubernetes=False, namespace=namespace) == InBucket(bucket)


@given(BUCKETS, st.sampled_from((".", "*", ">", " ", "/")), BUCKETS)
def test_a_bucket_that_cannot_be_is_refused_by_the_variables_name(one: str, between: str, two: str) -> None:
    with pytest.raises(InvalidHome, match="SIE_GATEWAY_POOL_BUCKET: a bucket's name must be"):
        pool_home(bucket=f"{one}{between}{two}", kubernetes=False, namespace=None)
