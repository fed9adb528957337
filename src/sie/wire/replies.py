"""What clients get of `/v1/encode`, `/v1/score` and `/v1/extract` (wire-facts 1.3): results spliced in unread.

In msgpack a result goes out as the worker wrote it; for JSON its arrays become lists.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgpack

from sie.wire.codec import unpack
from sie.wire.ndarray import arrays_to_lists

Errors = Sequence[Mapping[str, object]]


def msgpack_items_reply(model: str, results: Sequence[bytes], errors: Errors) -> bytes:
    """`{"model", "items"[, "errors"]}` around results that are msgpack already."""
    packer = _head(model, 3 if errors else 2)
    packer.pack("items")
    packer.pack_array_header(len(results))
    head: bytes = packer.bytes()
    return b"".join((head, *results, _packed_errors(errors) if errors else b""))


def msgpack_scores_reply(model: str, scores: bytes) -> bytes:
    """`{"model", "scores"}` around a list that is msgpack already."""
    packer = _head(model, 2)
    packer.pack("scores")
    head: bytes = packer.bytes()
    return head + scores


def json_items_reply(model: str, results: Iterable[bytes], errors: Errors) -> Mapping[str, object]:
    reply: dict[str, object] = {"model": model, "items": [arrays_to_lists(unpack(blob)) for blob in results]}
    return {**reply, "errors": list(errors)} if errors else reply


def json_scores_reply(model: str, scores: bytes) -> Mapping[str, object]:
    return {"model": model, "scores": arrays_to_lists(unpack(scores))}


def _head(model: str, entries: int) -> msgpack.Packer:
    packer = msgpack.Packer(use_bin_type=True, autoreset=False)
    packer.pack_map_header(entries)
    packer.pack("model")
    packer.pack(model)
    return packer


def _packed_errors(errors: Errors) -> bytes:
    key: bytes = msgpack.packb("errors")
    rows: bytes = msgpack.packb(list(errors))
    return key + rows
