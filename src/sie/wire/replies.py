"""What clients get of `/v1/encode`, `/v1/score` and `/v1/extract` (wire-facts 1.3): results spliced in unread.

In msgpack a result goes out as the worker wrote it; for JSON its arrays become lists.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgpack
import orjson

from sie.wire.codec import unpack
from sie.wire.ndarray import arrays_for_json

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


def json_items_reply(model: str, results: Iterable[bytes], errors: Errors) -> bytes:
    reply: dict[str, object] = {"model": model, "items": [arrays_for_json(unpack(blob)) for blob in results]}
    return _json({**reply, "errors": list(errors)} if errors else reply)


def json_scores_reply(model: str, scores: bytes) -> bytes:
    return _json({"model": model, "scores": arrays_for_json(unpack(scores))})


def _json(reply: Mapping[str, object]) -> bytes:
    return orjson.dumps(reply, option=orjson.OPT_SERIALIZE_NUMPY)


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
