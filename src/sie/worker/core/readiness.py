"""What does an item get for its model now, and what follows for the backend? The words of `models`."""

from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.wire.ipc import Failed
from sie.worker.core.cooldowns import LoadFailure, cooldown_s, judge_failure


@attrs.frozen
class Ready:
    """The backend can run it."""


@attrs.frozen
class Coming:
    """Its work waits."""


@attrs.frozen
class Refused:
    """`retry_after_s` None: trying again cannot help."""

    code: ErrorCode
    message: str
    retry_after_s: int | None
    load: LoadFailure | None = None


Readiness: TypeAlias = Ready | Coming | Refused


@attrs.frozen
class Due:
    """What begins now: these are loaded, these unloaded; those that are `refused` can have no room."""

    loads: tuple[str, ...] = ()
    unloads: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@attrs.frozen
class Rest:
    """A model whose load failed, and until when nobody tries it again."""

    failure: Failed
    load: LoadFailure
    until_s: float

    @property
    def code(self) -> ErrorCode:
        """The child is trusted with words, not with new codes."""
        known = {code.value: code for code in ErrorCode}
        return known.get(self.failure.error_code, ErrorCode.MODEL_LOAD_FAILED)

    def refuse(self, *, now_s: float) -> Refused:
        after_s = None if self.load.permanent else max(1, round(self.until_s - now_s))
        return Refused(self.code, self.failure.error, after_s, self.load)


def decide_rest(failure: Failed, before: Rest | None, *, now_s: float) -> Rest:
    """After one more failure in a row."""
    attempts = before.load.attempts + 1 if before else 1
    load = judge_failure(failure.error_class, attempts, permanent=failure.permanent)
    return Rest(failure, load, now_s + cooldown_s(load))
