"""Which pool does an entry of the broker's bucket stand for (§16.3, wire-facts 4.4)? Pure.

The key is the pool's name as it is: whatever may stand in a name may stand in a key. The value is the document that
Kubernetes has of it.
"""

from sie.bus.key_value_api import Entry
from sie.domain.ids import InvalidId, PoolName, pool_name
from sie.domain.pool import Pool
from sie.gateway.core.pool_documents import Nonsense, read_pool_text


def pool_of_key(key: str) -> PoolName | None:
    """None for a key that no pool has."""
    try:
        name = pool_name(key)
    except InvalidId:
        return None
    return name if name == key else None


def read_entry(entry: Entry | None) -> Pool | Nonsense | None:
    """None for what is not there, or was deleted."""
    if entry is None or entry.value is None:
        return None
    found = read_pool_text(entry.value)
    if isinstance(found, Pool) and found.spec.name != entry.key:
        return Nonsense(f"it is of the pool {found.spec.name!r}, which has another key")
    return found


def pool_in(entry: Entry | None) -> Pool | None:
    """None also for nonsense."""
    found = read_entry(entry)
    return found if isinstance(found, Pool) else None
