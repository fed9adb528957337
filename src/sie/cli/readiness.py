"""Is the system ready, and if not, what is it doing? Pure: read from the gateway's `/health` and `/v1/models`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs


@attrs.frozen
class ModelView:
    name: str
    state: str
    activity: str
    error: str


@attrs.frozen
class WorkerView:
    """`healthy` is the gateway's word for a worker that takes work, which it does once its models are loaded."""

    name: str
    healthy: bool
    models: tuple[ModelView, ...]


@attrs.frozen
class Ready:
    pass


@attrs.frozen
class Busy:
    """`doing` is for people: `compiling 3/8`."""

    doing: str


@attrs.frozen
class Broken:
    """A model cannot be loaded, and waiting will not change it."""

    reason: str


State: TypeAlias = Ready | Busy | Broken


def judge_worker(workers: Sequence[WorkerView], worker_id: str, wanted: Sequence[str]) -> State | None:
    """What that worker says of the models it is to have; None before the gateway has heard from it."""
    mine = next((worker for worker in workers if worker.name == worker_id), None)
    if mine is None:
        return None
    models = {model.name: model for model in mine.models}
    pending = [models.get(name, ModelView(name, "", "", "")) for name in wanted]
    pending = [model for model in pending if model.state != "loaded"]
    if failed := [model for model in pending if model.state == "failed"]:
        return Broken(
            "; ".join(f"{model.name} cannot be loaded: {model.error or 'no reason given'}" for model in failed)
        )
    if pending:
        return Busy(_doing(pending, alone=len(wanted) == 1))
    return Ready() if mine.healthy else Busy("not taking work yet")


def read_workers(body: bytes | None) -> tuple[WorkerView, ...]:
    """From `/health`; a reply that is not understood shows no worker."""
    return tuple(
        WorkerView(
            name=_text(row, "name"),
            healthy=row.get("healthy") is True,
            models=tuple(
                ModelView(_text(model, "name"), _text(model, "state"), _text(model, "activity"), _text(model, "error"))
                for model in _rows(row.get("models"))
            ),
        )
        for row in _rows(_document(body).get("workers"))
    )


def all_loaded(body: bytes | None, wanted: Sequence[str]) -> bool:
    """From `/v1/models`: whether requests for every wanted model find it loaded."""
    loaded = {_text(row, "name") for row in _rows(_document(body).get("models")) if row.get("loaded") is True}
    return loaded.issuperset(wanted)


def _doing(pending: Sequence[ModelView], *, alone: bool) -> str:
    """The first that says something; which one it is goes without saying if there is one."""
    for model in pending:
        if doing := model.activity or (model.state if model.state != "available" else ""):
            return doing if alone else f"{doing} ({model.name})"
    return "waiting for its models"


def _document(body: bytes | None) -> Mapping[str, object]:
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> Iterator[Mapping[str, object]]:
    for row in value if isinstance(value, list) else ():
        if isinstance(row, dict):
            yield row


def _text(row: Mapping[str, object], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
