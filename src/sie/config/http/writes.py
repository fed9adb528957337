"""The config service's writes (§3, wire-facts 3.3 and 3.4): POST appends, PUT replaces, DELETE takes away.

Each is read, judged, written once, answered and told to the audit log; the rules are in `core`, the order of a write
in `writer`.
"""

import logging
from collections.abc import Callable
from functools import partial

import attrs

from sie.config.core.catalog import Catalog, Config, parse_config
from sie.config.core.idempotency import fingerprint
from sie.config.core.write import Conflicting, Decision, Invalid, Unchanged, plan_append, plan_delete, plan_replace
from sie.config.http import answers
from sie.config.http.audit import Audited
from sie.config.http.guards import Guards, all_of, invalid_model_id, names_a_model
from sie.config.http.once import Once
from sie.config.store import EpochFenced
from sie.config.writer import Decide, Writer, Written
from sie.domain import ids
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId
from sie.storage.backend import StorageError
from sie.web.errors import Refusal
from sie.web.routes import Reply, Request, Route
from sie.wire.converters import Problem, WireError
from sie.wire.model_schema import check_model_schema

log = logging.getLogger(__name__)

STANDALONE = "standalone"
"""The producer's name where there is no broker."""
IN_PLACE_BYTES = 16 * 1024
"""A document up to this size is read in some milliseconds at most."""


@attrs.frozen
class Writes:
    writer: Writer
    guards: Guards
    once: Once

    @property
    def router_id(self) -> str:
        return self.writer.publisher.producer if self.writer.publisher is not None else STANDALONE


def routes(writes: Writes) -> tuple[Route, ...]:
    guards = writes.guards
    common = (guards.may("write"), guards.has_registry)
    of_one = (*common, names_a_model, guards.can_tell)
    return (
        Route("POST", "/v1/configs/models", partial(add, writes), all_of(*common, guards.can_tell)),
        Route("PUT", "/v1/configs/models/{model_id*}", partial(replace, writes), all_of(*of_one)),
        Route("DELETE", "/v1/configs/models/{model_id*}", partial(delete, writes), all_of(*of_one)),
    )


async def add(writes: Writes, request: Request) -> Reply:
    audited = Audited(request, "config.add_model")
    return await writes.once.run(
        request.headers.get("idempotency-key"),
        fingerprint("POST", "", request.body),
        partial(_add, writes, audited),
    )


async def replace(writes: Writes, request: Request) -> Reply:
    audited, model = Audited(request, "config.replace_model"), ids.model_id(request.params["model_id"])
    return await writes.once.run(
        request.headers.get("idempotency-key"),
        fingerprint("PUT", model, request.body),
        partial(_replace, writes, audited, model),
    )


async def delete(writes: Writes, request: Request) -> Reply:
    audited, model = Audited(request, "config.delete_model"), ids.model_id(request.params["model_id"])
    if writes.writer.store is None:
        words = "Without a config store there is nothing that could be deleted"
        return Refusal(ErrorCode.CONFIG_STORE_REQUIRED, words).reply()
    return await writes.once.run(
        request.headers.get("idempotency-key"),
        fingerprint("DELETE", model, b""),
        partial(_delete, writes, audited, model),
    )


async def _add(writes: Writes, audited: Audited) -> Reply:
    config = await _config_of(writes, audited.request.body)
    if isinstance(config, Reply):
        return config
    named = config.get("sie_id")
    if not named:
        return answers.invalid([Problem((), "Missing required field: sie_id")])
    try:
        model = ids.model_id(str(named))
    except ids.InvalidId as error:
        return invalid_model_id(error)
    return await _write(
        writes, audited, model, partial(_decide_add, config), partial(answers.added, model, writes.router_id)
    )


async def _replace(writes: Writes, audited: Audited, model: ModelId) -> Reply:
    config = await _config_of(writes, audited.request.body)
    if isinstance(config, Reply):
        return config
    named = str(config.get("sie_id", model))
    if not named:
        return invalid_model_id(ids.InvalidId("sie_id", named, "must not be empty"))
    if named != model:
        words = f"The body's sie_id {named!r} is not the path's {model!r}"
        return Refusal(ErrorCode.CONFIG_MODEL_ID_MISMATCH, words).reply()
    decide = partial(_decide_replace, {**config, "sie_id": model})
    return await _write(writes, audited, model, decide, partial(answers.replaced, model, writes.router_id))


async def _delete(writes: Writes, audited: Audited, model: ModelId) -> Reply:
    tell = partial(answers.deleted, model, writes.writer.state.epoch)
    return await _write(writes, audited, model, partial(_decide_delete, model), tell)


async def _write(
    writes: Writes, audited: Audited, model: ModelId, decide: Decide, tell: Callable[[Unchanged | Written], Reply]
) -> Reply:
    try:
        answer = await writes.writer.write(model, decide)
    except EpochFenced as error:
        return Refusal(ErrorCode.CONFIG_EPOCH_FENCED, str(error)).reply()
    except StorageError as error:
        log.error("the store cannot take a write", extra={"model": model, "error": str(error)})
        return Refusal(ErrorCode.CONFIG_STORE_UNAVAILABLE, str(error)).reply()
    match answer:
        case Invalid(reasons):
            return answers.invalid([Problem((), reason) for reason in reasons])
        case Conflicting(conflict):
            return answers.conflicting(model, conflict)
        case done:
            reply = tell(done)
            audited.tell(model, reply)
            return reply


async def _config_of(writes: Writes, body: bytes) -> Config | Reply:
    """Off the loop where it takes long: half a second for a document of a megabyte."""
    if len(body) <= IN_PLACE_BYTES:
        return _read_config(body)
    return await writes.writer.run_in_thread(partial(_read_config, body))


def _read_config(body: bytes) -> Config | Reply:
    try:
        config = parse_config(body.decode())
    except UnicodeDecodeError as error:
        return Refusal(ErrorCode.CONFIG_PARSE_ERROR, f"The body is not UTF-8: {error}").reply()
    except WireError as error:
        return Refusal(ErrorCode.CONFIG_PARSE_ERROR, str(error)).reply()
    problems = check_model_schema(config)
    return answers.invalid(problems) if problems else config


def _decide_add(incoming: Config, catalog: Catalog, stored_text: str | None) -> Decision:
    return plan_append(catalog, stored_text, incoming)


def _decide_replace(incoming: Config, catalog: Catalog, _: str | None) -> Decision:
    return plan_replace(catalog, incoming)


def _decide_delete(model: ModelId, catalog: Catalog, stored_text: str | None) -> Decision:
    return plan_delete(catalog, stored_text, model)
