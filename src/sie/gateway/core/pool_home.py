"""Where does this gateway keep its pools (§16.3, decisions)? In itself, in a broker's bucket or in a cluster. Pure."""

import attrs

from sie.bus.key_value_api import check_bucket

BUCKET_VARIABLE = "SIE_GATEWAY_POOL_BUCKET"
CLUSTER_VARIABLE = "SIE_GATEWAY_KUBERNETES"


class InvalidHome(ValueError):
    """The settings name no place, or two."""


@attrs.frozen
class InProcess:
    """For one gateway process alone."""


@attrs.frozen
class InBucket:
    bucket: str


@attrs.frozen
class InCluster:
    """`namespace` None is the one that comes with the access."""

    namespace: str | None


Home = InProcess | InBucket | InCluster


def pool_home(*, bucket: str | None, kubernetes: bool, namespace: str | None) -> Home:
    """Raises InvalidHome."""
    if bucket is None:
        return InCluster(namespace) if kubernetes else InProcess()
    if kubernetes:
        raise InvalidHome(f"{BUCKET_VARIABLE} and {CLUSTER_VARIABLE} exclude each other: pools have one place")
    try:
        check_bucket(bucket)
    except ValueError as error:
        raise InvalidHome(f"{BUCKET_VARIABLE}: {error}") from error
    return InBucket(bucket)
