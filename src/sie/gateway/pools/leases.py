"""What becomes of a pool's Lease when the pool goes (§16.3)? It goes too, unless a new pool of the name has it by then.

Where we cannot remove it the cluster's garbage collector does, since its owner is gone.
"""

import logging

from sie.domain.ids import PoolName
from sie.gateway.core.pool_documents import is_owned
from sie.kube.api import Objects
from sie.kube.core.documents import LEASES
from sie.kube.core.errors import Conflict, KubeError, NotFound
from sie.kube.core.names import lease_name
from sie.kube.core.values import ConfigMap

log = logging.getLogger(__name__)


async def drop_lease(kube: Objects, name: PoolName, owner: ConfigMap) -> None:
    try:
        lease = await kube.get(LEASES, lease_name(name))
        at = lease.metadata
        if is_owned(lease, owner):
            await kube.delete(LEASES, at.name, uid=at.uid, resource_version=at.resource_version)
    except (NotFound, Conflict):
        pass  # another was quicker, or holds it now
    except KubeError as error:
        log.warning("a pool's lease is left behind", extra={"pool": name, "error": str(error)})
