"""What an item of a batch holds, checked against what a model reads; and how a result is told (wire-facts 1.2, 1.3)."""

from collections.abc import Mapping

from sie.adapters.api import BadInput
from sie.domain.errors import ErrorCode
from sie.wire.ipc import EncodeItem, ItemOutcome


def text_of(item: Mapping[str, object], name: str = "an item") -> str:
    """Raises BadInput, which names what is there instead."""
    text = item.get("text")
    if not isinstance(text, str):
        raise BadInput(f"{name} must have a string under 'text'; this one has {_keys(item)}")
    return text


def id_of(item: Mapping[str, object], default: str | None = None) -> Mapping[str, object]:
    """The client's own id as it was given; `default`, or nothing at all, where there was none."""
    found = item.get("id")
    if isinstance(found, str):
        return {"id": found}
    return {} if default is None else {"id": default}


def options_of(item: EncodeItem) -> Mapping[str, object]:
    return item.options or {}


def non_finite(what: str) -> ItemOutcome:
    """A number that is none is a fault of the model, never an answer."""
    return ItemOutcome(error_code=ErrorCode.INFERENCE_ERROR, error=f"the model gave {what} with NaN or infinity")


def _keys(item: Mapping[str, object]) -> str:
    return ", ".join(map(repr, item)) or "nothing"
