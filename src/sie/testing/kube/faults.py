"""What can an API server do to a request beside answering it? Faults as values, and the plan of which come next."""

from collections.abc import Collection

import attrs

from sie.testing.kube.asking import Asked, Verb

EVERY_VERB: frozenset[Verb] = frozenset({"get", "list", "watch", "create", "update", "patch", "delete"})


@attrs.frozen
class Refuse:
    """429, 500, 503, 410, ...: a Status of that code, and a Retry-After where there is one."""

    code: int
    retry_after: str | None = None


@attrs.frozen
class Delay:
    """The answer is right, and late. It was decided before the wait."""

    by_s: float


@attrs.frozen
class Hang:
    """Nothing is answered; the request had no effect."""


@attrs.frozen
class LoseAnswer:
    """The request has its effect, and the connection ends before the answer. Over a port Hypercorn says 500 instead."""


@attrs.frozen
class Garble:
    """200, with what is no JSON, as a broken proxy answers."""


@attrs.frozen
class Mute:
    """A watch begins and then is silent for ever, beyond its own timeout: a half-open connection."""


Fault = Refuse | Delay | Hang | LoseAnswer | Garble | Mute


@attrs.define
class _Planned:
    fault: Fault
    verbs: Collection[Verb]
    times: int


@attrs.define(eq=False)
class Faults:
    """Each is met by the next `times` requests of its verbs; `met` counts them by kind."""

    _planned: list[_Planned] = attrs.field(factory=list, init=False)
    met: dict[str, int] = attrs.field(factory=dict, init=False)

    def add(self, fault: Fault, *, times: int = 1, verbs: Collection[Verb] = EVERY_VERB) -> None:
        self._planned.append(_Planned(fault, frozenset({"watch"}) if isinstance(fault, Mute) else verbs, times))

    def clear(self) -> None:
        self._planned.clear()

    def take(self, asked: Asked) -> Fault | None:
        for planned in self._planned:
            if planned.times > 0 and asked.verb in planned.verbs:
                planned.times -= 1
                name = type(planned.fault).__name__
                self.met[name] = self.met.get(name, 0) + 1
                return planned.fault
        return None
