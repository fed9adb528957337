"""One measured figure and the limit that it must not exceed."""

from collections.abc import Mapping

import attrs

_NO_DETAILS: Mapping[str, object] = {}


@attrs.frozen
class Figure:
    """`details` are what it was made of: the single runs, the parts of a sum, how it was taken."""

    bench: str
    name: str
    value: float
    limit: float
    unit: str
    details: Mapping[str, object] = _NO_DETAILS

    @property
    def holds(self) -> bool:
        return self.value <= self.limit

    def as_json(self) -> Mapping[str, object]:
        return {
            "bench": self.bench,
            "figure": self.name,
            "value": round(self.value, 3),
            "limit": self.limit,
            "unit": self.unit,
            "holds": self.holds,
            **self.details,
        }
