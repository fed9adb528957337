"""May this request go on, by what stands in its head (wire-facts 3.1, 3.3)? Asked before any of the body is read."""

from collections.abc import Callable

import attrs

from sie.config.core.access import Denied, Kind, Tokens, judge_access
from sie.config.publisher import ConfigPublisher
from sie.config.state import ConfigState, Held
from sie.domain import ids
from sie.domain.errors import ErrorCode
from sie.web.bodies import json_reply
from sie.web.errors import Refusal
from sie.web.routes import Admit, Reply, Request

Check = Callable[[Request], Reply | None]


@attrs.frozen
class Guards:
    """Each check answers what it refuses; they are asked in the order of the published service."""

    tokens: Tokens
    state: ConfigState
    publisher: ConfigPublisher | None

    def may(self, kind: Kind) -> Check:
        def check(request: Request) -> Reply | None:
            denied = judge_access(self.tokens, kind, request.headers)
            return _denied(denied) if denied is not None else None

        return check

    def has_registry(self, _: Request) -> Reply | None:
        return None if self.state.current is not None else registry_unavailable()

    def can_tell(self, _: Request) -> Reply | None:
        """A write that nobody could be told of is refused while it has not begun (§3)."""
        if self.publisher is None or self.publisher.is_connected:
            return None
        words = "The broker is not connected, so nobody could be told of the write"
        return Refusal(ErrorCode.CONFIG_NATS_UNAVAILABLE, words).reply()


def names_a_model(request: Request) -> Reply | None:
    try:
        ids.model_id(request.params["model_id"])
    except ids.InvalidId as error:
        return invalid_model_id(error)
    return None


def all_of(*checks: Check) -> Admit:
    """The first refusal, if there is one."""

    def admit(request: Request) -> Reply | None:
        return next((refused for check in checks if (refused := check(request)) is not None), None)

    return admit


def current(state: ConfigState) -> Held:
    """For handlers behind `has_registry`: between the check and the handler nobody takes the registry away."""
    assert state.current is not None
    return state.current


def registry_unavailable() -> Reply:
    return Refusal(ErrorCode.CONFIG_REGISTRY_UNAVAILABLE, "The model registry is not loaded; see the log").reply()


def invalid_model_id(error: ids.InvalidId) -> Reply:
    return Refusal(ErrorCode.CONFIG_INVALID_MODEL_ID, str(error)).reply()


def _denied(denied: Denied) -> Reply:
    """Words alone, as the published service refuses (wire-facts 3.1)."""
    headers = (("WWW-Authenticate", "Bearer"),) if denied.status == 401 else ()
    return json_reply({"detail": denied.words}, status=denied.status, headers=headers)
