"""Which models are on which device, how much of it do they take, and when did they last work? Sans-IO.

A model has a place from the moment it is to be loaded until it is unloaded. What it takes is known from its last load,
or from the backend's word that it did not fit; until then it counts as nothing, and one such load runs at a time.
"""

from collections.abc import Collection, Mapping

import attrs

from sie.worker.core.eviction import NO_WORK, Resident
from sie.worker.core.placement import Site, decide_device

USABLE = 0.85
"""The part of a device's memory that models may take; what batches need comes on top."""


@attrs.define
class Place:
    """One model on its device. `used_s` is when it was loaded or last began to run; `running` counts its batches."""

    device: int
    used_s: float
    running: int = 0
    has_run: bool = False


@attrs.define
class Memory:
    """`limit_bytes` is what models may take of each device, None for a part of what it has. `sharing` devices have one
    memory between them, as children on a CPU do.
    """

    devices: int = 1
    limit_bytes: int | None = None
    sharing: int = 1
    _totals: dict[int, int] = attrs.field(factory=dict, init=False)
    _up: set[int] = attrs.field(init=False)
    _sizes: dict[str, int] = attrs.field(factory=dict, init=False)
    _places: dict[str, Place] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._up = {0} if self.devices == 1 else set()  # where there is one alone, its work waits for it anyway

    @property
    def used_bytes(self) -> int:
        return sum(map(self.size_of, self._places))

    @property
    def total_bytes(self) -> int:
        """What models may take in all; 0 where that is not known."""
        return sum(self.budget_bytes(number) or 0 for number in range(self.devices))

    def budget_bytes(self, device: int) -> int | None:
        if self.limit_bytes is not None:
            return self.limit_bytes
        total = self._totals.get(device)
        return int(total / self.sharing * USABLE) if total else None

    def learn_device(self, device: int, total_bytes: int) -> None:
        if total_bytes:
            self._totals[device] = total_bytes

    def come_up(self, device: int) -> None:
        self._up.add(device)

    def go_down(self, device: int) -> None:
        if self.devices > 1:
            self._up.discard(device)

    def has_other(self, device: int) -> bool:
        """Is there one that can take over what was there?"""
        return bool(self._up - {device})

    def size_of(self, serving_id: str) -> int:
        return self._sizes.get(serving_id, 0)

    def learn_size(self, serving_id: str, memory_bytes: int) -> None:
        self._sizes[serving_id] = memory_bytes

    def forget_size(self, serving_id: str) -> None:
        self._sizes.pop(serving_id, None)

    def find_device(self, serving_id: str) -> int | None:
        """Where the model is, or would be put; None while no device is up."""
        place = self._places.get(serving_id)
        if place is not None:
            return place.device
        return decide_device(Site(number, self._free(number), len(self.on(number))) for number in sorted(self._up))

    def place(self, serving_id: str, device: int, *, now_s: float) -> None:
        before = self._places.get(serving_id)
        running = before.running if before else 0
        self._places[serving_id] = Place(device, now_s, running)

    def remove(self, serving_id: str) -> None:
        self._places.pop(serving_id, None)

    def on(self, device: int) -> tuple[str, ...]:
        return tuple(name for name, place in self._places.items() if place.device == device)

    def device_of(self, serving_id: str) -> int:
        place = self._places.get(serving_id)
        return place.device if place else 0

    def begin(self, serving_id: str, *, now_s: float) -> None:
        """A batch of the model is on its way."""
        place = self._places.get(serving_id)
        if place is not None:
            place.used_s, place.running = now_s, place.running + 1

    def end(self, serving_id: str) -> None:
        place = self._places.get(serving_id)
        if place is not None:
            place.running, place.has_run = max(0, place.running - 1), True

    def running_on(self, device: int) -> int:
        return sum(self._places[name].running for name in self.on(device))

    def residents(
        self,
        device: int,
        *,
        besides: str,
        kept: Collection[str],
        fixed: Collection[str],
        leaving: Collection[str],
        waiting: Mapping[str, float],
    ) -> tuple[Resident, ...]:
        """All on the device but `besides`."""
        return tuple(
            Resident(
                serving_id=name,
                memory_bytes=self.size_of(name),
                used_s=place.used_s,
                is_kept=name in kept,
                is_fixed=name in fixed,
                is_leaving=name in leaving,
                is_running=place.running > 0,
                has_run=place.has_run,
                waiting=waiting.get(name, NO_WORK),
            )
            for name, place in self._places.items()
            if place.device == device and name != besides
        )

    def room_bytes(self, serving_id: str) -> int | None:
        """What the model may take where it is; None without a limit."""
        device = self.device_of(serving_id)
        budget = self.budget_bytes(device)
        others = sum(self.size_of(name) for name in self.on(device) if name != serving_id)
        return None if budget is None else max(0, budget - others)

    def _free(self, device: int) -> float:
        budget = self.budget_bytes(device)
        return float("inf") if budget is None else budget - sum(map(self.size_of, self.on(device)))
