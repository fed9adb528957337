"""A gateway is told one place for its pools, or it does not start."""

import pytest
from click.testing import CliRunner

from sie.gateway.__main__ import main
from sie.gateway.app import pool_home_of
from sie.gateway.core.pool_home import InBucket, InProcess
from sie.gateway.settings import GatewaySettings


def test_pools_are_kept_in_the_process_unless_a_bucket_is_named() -> None:
    assert pool_home_of(GatewaySettings()) == InProcess()
    assert pool_home_of(GatewaySettings(pool_bucket="sie-pools")) == InBucket("sie-pools")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--pool-bucket", "a.b"], "SIE_GATEWAY_POOL_BUCKET: a bucket's name must be 1 to 128 letters"),
        (["--pool-bucket", "a", "--kubernetes"], "SIE_GATEWAY_POOL_BUCKET and SIE_GATEWAY_KUBERNETES exclude each"),
    ],
)
def test_a_place_that_cannot_be_is_refused_at_start(flags: list[str], told: str) -> None:
    refused = CliRunner().invoke(main, ["serve", *flags], env={"SIE_NATS_URL": "nats://127.0.0.1:1"})
    assert refused.exit_code == 2
    assert told in refused.output
