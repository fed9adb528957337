"""What stands in Kubernetes for a pool, and which pool does it stand for (wire-facts 4.4)? Both directions, pure.

The ConfigMap is the pool: its spec and times together, so that one compare-and-swap changes or removes both. The Lease
says the times again for whoever looks at the cluster; it is owned by the ConfigMap, and nothing is decided by it.
"""

from collections.abc import Mapping

import attrs
import orjson

from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec, asked_for
from sie.kube.core.names import (
    MANAGED_BY,
    MANAGER,
    POOL_KEY,
    config_map_name,
    lease_name,
    pool_labels,
    pool_of_config_map,
)
from sie.kube.core.values import ConfigMap, Document, Lease, Metadata
from sie.wire.converters import TOLERANT, WireError, structure
from sie.wire.pools_api import read_pool, spec_document

MAX_DOCUMENT_CHARS = 256 * 1024
"""Far more than the largest spec that the API takes; no more of what a hand wrote is read."""
MAX_UNIX_S = 250_000_000_000.0
"""In the year 9892: the times of a Lease end at 9999."""
OWNERS = "ownerReferences"


@attrs.frozen
class Nonsense:
    """It says that it is a pool, and is none that may be."""

    why: str


@attrs.frozen
class _Times:
    created_at: float
    last_renewed: float


@attrs.frozen
class _Stored:
    """Around the spec, which is read exactly, others may have said more."""

    spec: Mapping[str, object]
    status: _Times


def read_stored(item: ConfigMap) -> Pool | Nonsense:
    if item.metadata.labels.get(MANAGED_BY) != MANAGER:
        return Nonsense(f"its label {MANAGED_BY} is not {MANAGER}")
    found = read_pool_text(item.data.get(POOL_KEY, ""))
    if isinstance(found, Nonsense):
        return Nonsense(f"{POOL_KEY}: {found.why}")
    if pool_of_config_map(item.metadata.name) != found.spec.name:
        return Nonsense(f"{POOL_KEY} is of the pool {found.spec.name!r}, which has another object")
    return found


def read_pool_text(text: str | bytes) -> Pool | Nonsense:
    """A pool's document, wherever it is kept."""
    if len(text) > MAX_DOCUMENT_CHARS:
        return Nonsense(f"it must have at most {MAX_DOCUMENT_CHARS} characters, not {len(text)}")
    try:
        return _pool_in(orjson.loads(text))
    except ValueError as error:
        return Nonsense(str(error))


def write_pool_text(pool: Pool) -> bytes:
    status = {"created_at": pool.created_s, "last_renewed": pool.renewed_s}
    return orjson.dumps({"spec": spec_document(pool.spec), "status": status})


def pool_kept(item: ConfigMap | None) -> Pool | None:
    """None also for nonsense."""
    found = None if item is None else read_stored(item)
    return found if isinstance(found, Pool) else None


def with_spec(item: ConfigMap | None, spec: PoolSpec, now_s: float) -> ConfigMap:
    """What should be there once the pool was asked for, whatever was: nonsense is written over."""
    pool = asked_for(pool_kept(item), spec, now_s)
    return _written(item or ConfigMap(Metadata(config_map_name(spec.name))), pool)


def renewed(item: ConfigMap | None, now_s: float) -> ConfigMap | None:
    """None where there is no pool."""
    before = pool_kept(item)
    return None if item is None or before is None else _written(item, before.renewed(now_s))


def lease_beside(owner: ConfigMap, pool: Pool, current: Lease | None) -> Lease | None:
    """None where it is right, or another gateway has said a later time there meanwhile."""
    held = current or Lease(Metadata(lease_name(pool.spec.name)))
    said_s = held.spec.renew_unix_s
    if said_s is not None and said_s > pool.renewed_s and is_owned(held, owner):
        return None
    spec = attrs.evolve(
        held.spec,
        holder_identity=pool.spec.name,
        lease_duration_s=pool.spec.ttl_s,
        acquire_unix_s=pool.created_s,
        renew_unix_s=pool.renewed_s,
    )
    rest: Document = {**held.metadata.rest, OWNERS: [_reference(owner)]}
    return attrs.evolve(held, metadata=_labelled(held.metadata, pool.spec.name, rest), spec=spec)


def is_owned(lease: Lease, owner: ConfigMap) -> bool:
    """By this very object, not by another of its name."""
    return lease.metadata.rest.get(OWNERS) == [_reference(owner)]


def _pool_in(document: object) -> Pool:
    """Raises ValueError."""
    stored = structure(TOLERANT, document, _Stored)
    times = stored.status
    for name, at_s in (("created_at", times.created_at), ("last_renewed", times.last_renewed)):
        if not 0 <= at_s <= MAX_UNIX_S:
            raise WireError.at("status", name, message="must be a time in unix seconds")
    return Pool(read_pool(stored.spec), float(times.created_at), float(times.last_renewed))


def _written(item: ConfigMap, pool: Pool) -> ConfigMap:
    text = write_pool_text(pool).decode()
    metadata = _labelled(item.metadata, pool.spec.name, item.metadata.rest)
    return attrs.evolve(item, metadata=metadata, data={**item.data, POOL_KEY: text})


def _labelled(metadata: Metadata, pool: PoolName, rest: Document) -> Metadata:
    return attrs.evolve(metadata, labels={**metadata.labels, **pool_labels(pool)}, rest=rest)


def _reference(owner: ConfigMap) -> Document:
    """By which the cluster's garbage collector takes the Lease away once the pool is gone."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner.metadata.name,
        "uid": owner.metadata.uid or "",
    }
