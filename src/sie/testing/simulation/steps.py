"""The step of a script in which nothing is done."""

import attrs


@attrs.frozen
class Wait:
    for_s: float
