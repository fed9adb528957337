"""The smallest script that still breaks the same rule: steps are left out, then what is left is made plain.

Every candidate is run; a script is its own replay, so what comes out needs nothing else.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

import attrs

from sie.testing.cluster.client import Ask
from sie.testing.simulation.script import Script

Breaks = Callable[[Script], bool]
PLAIN: tuple[Callable[[Ask], Ask], ...] = (
    lambda ask: attrs.evolve(ask, clients=1),
    lambda ask: attrs.evolve(ask, items=1),
    lambda ask: attrs.evolve(ask, shape="good"),
    lambda ask: attrs.evolve(ask, leaves_after_s=None),
)


def rule_of(violation: str) -> str:
    """What was broken, without who and when: names and numbers differ as a script shrinks."""
    return re.sub(r"[0-9a-f]*\d[0-9a-f.]*", "#", violation.splitlines()[-1 if violation.startswith("a serv") else 0])[
        :120
    ]


def shrink(script: Script, breaks: Breaks, *, is_over: Callable[[], bool] = lambda: False) -> Script:
    """`breaks` says whether a candidate breaks the rule that `script` breaks."""
    size = max(1, len(script.steps) // 2)
    while size and not is_over():
        shorter = next((fewer for fewer in _without(script, size) if not is_over() and breaks(fewer)), None)
        script = shorter or script
        size = size if shorter else size // 2
    for plainer in _plainer(script):
        candidate = plainer(script)
        if candidate != script and not is_over() and breaks(candidate):
            script = candidate
    return script


def _without(script: Script, size: int) -> Iterator[Script]:
    for start in reversed(range(0, len(script.steps), size)):
        yield attrs.evolve(script, steps=script.steps[:start] + script.steps[start + size :])


def _plainer(script: Script) -> Iterator[Callable[[Script], Script]]:
    yield lambda now: attrs.evolve(now, topology=attrs.evolve(now.topology, gateways=1, workers=1))
    yield lambda now: attrs.evolve(now, topology=attrs.evolve(now.topology, storage="memory"))
    for number in range(len(script.steps)):
        for plain in PLAIN:
            yield partial(_with_ask, number=number, plain=plain)


def _with_ask(script: Script, number: int, plain: Callable[[Ask], Ask]) -> Script:
    step = script.steps[number]
    if not isinstance(step, Ask):
        return script
    steps = (*script.steps[:number], plain(step), *script.steps[number + 1 :])
    return attrs.evolve(script, steps=steps)
