"""What does a write answer (wire-facts 3.3, 3.4)? One function an outcome, in the published service's shapes."""

from collections.abc import Sequence

from sie.config.core.merge import Conflict
from sie.config.core.write import Unchanged
from sie.config.writer import Written
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId
from sie.web.bodies import json_reply
from sie.web.errors import Refusal
from sie.web.routes import Reply
from sie.wire.converters import Problem

CREATED = 201


def added(model: ModelId, router_id: str, outcome: Unchanged | Written) -> Reply:
    """201 when a profile was created, 200 for a replay."""
    body = {
        "model_id": model,
        "created_profiles": outcome.plan.created if isinstance(outcome, Written) else (),
        "existing_profiles_skipped": outcome.plan.skipped if isinstance(outcome, Written) else outcome.skipped,
        "warnings": outcome.warnings if isinstance(outcome, Written) else (),
        "routable_bundles_by_profile": outcome.plan.routable if isinstance(outcome, Written) else {},
        "router_id": router_id,
    }
    return json_reply(body, status=CREATED if isinstance(outcome, Written) else 200)


def replaced(model: ModelId, router_id: str, outcome: Unchanged | Written) -> Reply:
    is_written = isinstance(outcome, Written)
    body = {
        "model_id": model,
        "replaced": is_written,
        "unchanged": not is_written,
        "affected_bundles": outcome.plan.affected if isinstance(outcome, Written) else (),
        "warnings": outcome.warnings if isinstance(outcome, Written) else (),
        "router_id": router_id,
    }
    return json_reply(body)


def deleted(model: ModelId, epoch: int, outcome: Unchanged | Written) -> Reply:
    """`fallback` says what serves the id now: the seed under it, or nothing."""
    is_written = isinstance(outcome, Written)
    seed = outcome.plan.catalog.models.get(model) if isinstance(outcome, Written) else None
    body = {
        "model_id": model,
        "deleted": is_written,
        "unchanged": not is_written,
        "fallback": seed.source if seed is not None else None,
        "affected_bundles": outcome.plan.affected if isinstance(outcome, Written) else (),
        "epoch": outcome.epoch if isinstance(outcome, Written) else epoch,
        "distribution": "epoch_export",
    }
    return json_reply(body)


def invalid(problems: Sequence[Problem]) -> Reply:
    """Schema problems have a `loc`, the others only words (wire-facts 3.3)."""
    details = [
        {"loc": list(problem.loc), "message": problem.message} if problem.loc else {"message": problem.message}
        for problem in problems
    ]
    words = "; ".join(map(str, problems))
    return Refusal(ErrorCode.CONFIG_VALIDATION_ERROR, words, {"details": details}).reply()


def conflicting(model: ModelId, conflict: Conflict) -> Reply:
    """Profiles are told before fields: one at a time, as the published service does."""
    if conflict.profiles:
        named, words = {"conflicting_profiles": conflict.profiles}, f"Profile(s) {list(conflict.profiles)} of"
    else:
        named, words = {"conflicting_fields": conflict.fields}, f"Top-level field(s) {list(conflict.fields)} of"
    message = f"{words} {model!r} exist with another content; a POST only appends, PUT replaces"
    return Refusal(ErrorCode.CONFIG_CONTENT_CONFLICT, message, {"model_id": model, **named}).reply()
