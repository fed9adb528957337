"""Where work for one kind of worker queues up: a pool, a machine profile and a bundle (§8.2, §16.3)."""

import attrs

from sie.domain.ids import BundleName, MachineProfile, PoolName


@attrs.frozen(cache_hash=True)
class Lane:
    """The physical lane. `pool` is the queue pool that names the stream, not a logical pool drawn from it."""

    pool: PoolName
    machine_profile: MachineProfile
    bundle: BundleName

    def __str__(self) -> str:
        return f"{self.pool}/{self.machine_profile}/{self.bundle}"
