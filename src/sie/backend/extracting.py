"""Items to extract from: what is looked for, and what was found as a reply tells it (wire-facts 1.3)."""

from collections.abc import Mapping

import attrs

from sie.adapters.api import BadInput, ExtractedRow, ExtractInput
from sie.backend.items import id_of, text_of
from sie.wire.codec import pack
from sie.wire.inference_api import MAX_LABELS
from sie.wire.ipc import EncodeItem, ItemOutcome


def read_extract(item: EncodeItem) -> ExtractInput:
    """Raises BadInput, which names what no model here reads."""
    labels = item.labels
    if labels is not None and not 0 < len(labels) <= MAX_LABELS:
        raise BadInput(f"labels must name 1 to {MAX_LABELS}, not {len(labels)}; without them all that are known count")
    for name, value in (("output_schema", item.output_schema), ("instruction", item.instruction)):
        if value is not None:
            raise BadInput(f"{name} is not read by this model, which finds what it was trained to find")
    return ExtractInput(text_of(item.item), labels)


def render_extracted(item: EncodeItem, row: ExtractedRow) -> ItemOutcome:
    entities: list[Mapping[str, object]] = [attrs.asdict(entity) for entity in row.entities]
    return ItemOutcome(result_msgpack=pack({**id_of(item.item), "entities": entities}), input_tokens=row.tokens)
