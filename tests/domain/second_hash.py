"""The hash rules once more, from the texts alone (§7; wire-facts 3.7 for `compact`): documents in, orjson's bytes.

It shares nothing with `sie.domain` but the type of JSON, so that a mistake in one of the two shows.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256

import orjson

from sie.domain.model import Json

Document = Mapping[str, Json]
Merge = Callable[[Json, Json], Json]
"""Of the options above and its own."""
FIELDS = ("adapter_options", "adapter_path", "compute_precision", "max_batch_tokens")
_NO_DOCUMENT: Document = {}


def second_bundle_hash(
    bundle: Document, models: Iterable[Document], pool: str | None = None, *, compact: bool = False
) -> str:
    """Over models by id: revision, and per profile by name the four routable fields; `""` where there are none.

    `compact` is the published 0.10 form.
    """
    adapters = _strings(bundle["adapters"])
    scoped = [m for m in models if pool in (None, pool_of(m))]
    rows = [row for m in sorted(scoped, key=lambda m: str(m["sie_id"])) if (row := _row(m, adapters, compact))]
    return sha256(orjson.dumps(rows, option=orjson.OPT_SORT_KEYS)).hexdigest() if rows else ""


def second_bundles_hash(bundles: Iterable[Document]) -> str:
    """Over bundles by name, in ASCII; `""` where there are none."""
    defaults: Document = {"priority": 100, "engine": "pytorch"}
    rows = [
        {
            **defaults,
            **{k: b[k] for k in ("name", "priority", "engine") if k in b},
            "adapters": sorted(_strings(b["adapters"])),
        }
        for b in sorted(bundles, key=lambda b: str(b["name"]))
    ]
    text = json.dumps(rows, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest() if rows else ""


def second_hashes_hash(bundles: Sequence[Document], models: Sequence[Document], *, compact: bool = False) -> str:
    """Over bundles: the hash, and the pool of each model that it serves; `""` where there are none."""
    rows = {
        str(bundle["name"]): {
            "bundle_config_hash": second_bundle_hash(bundle, models, compact=compact),
            "model_pools": {
                str(m["sie_id"]): pool_of(m) for m in models if second_bundle_hash(bundle, [m], compact=compact)
            },
        }
        for bundle in bundles
    }
    return sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()).hexdigest() if rows else ""


def pool_of(model: Document) -> str:
    return str(model.get("pool") or "").strip().lower() or "default"


def _row(model: Document, adapters: Sequence[str], compact: bool) -> Document | None:
    profiles = _map(model["profiles"])
    resolved = {name: fields for name in sorted(profiles) if (fields := _resolve(profiles, name, compact)) is not None}
    modules = {
        name: str(f["adapter_path"]).split(":")[0] if f["adapter_path"] else None for name, f in resolved.items()
    }
    if not set(modules.values()) & set(adapters):
        return None
    kept = [name for name in resolved if modules[name] is None or modules[name] in adapters]
    rows: list[Json] = [{"name": name, "config": resolved[name]} for name in kept]
    return {"sie_id": model["sie_id"], "revision": model.get("hf_revision"), "profiles": rows}


def _resolve(profiles: Document, name: str, compact: bool) -> Document | None:
    options = _compact_options if compact else _whole_options
    fields = _fields(profiles, name, options, ())
    return fields and {
        **fields,
        "adapter_options": None if _is_silent(fields["adapter_options"]) else fields["adapter_options"],
    }


def _fields(profiles: Document, name: str, options: Merge, trail: tuple[str, ...]) -> Document | None:
    if name in trail or name not in profiles:
        return None
    own = _map(profiles[name])
    if not own.get("extends"):
        return {**{key: own.get(key) for key in FIELDS}, "adapter_options": options(None, own.get("adapter_options"))}
    above = _fields(profiles, str(own["extends"]), options, (*trail, name))
    if above is None:
        return None
    fields = {key: above[key] if own.get(key) is None else own[key] for key in FIELDS}
    inherited: Json = {} if above["adapter_options"] is None else above["adapter_options"]
    return {**fields, "adapter_options": options(inherited, own.get("adapter_options"))}


def _whole_options(above: Json, own: Json) -> Json:
    """Empty `loadtime` and `runtime` inherit; all else overwrites. Above nothing (None), all is kept as it is."""
    if above is None or own is None or not isinstance(own, Mapping):
        return above if own is None else own
    return {**_map(above), **{k: v for k, v in own.items() if v or k not in ("loadtime", "runtime")}}


def _compact_options(above: Json, own: Json) -> Json:
    """As the published service merges them: keys with an empty map go, at each step."""
    merged = own
    if own is None:
        merged = above
    elif isinstance(own, Mapping):
        merged = {**_map(above), **{k: v for k, v in own.items() if v != {} or k not in ("loadtime", "runtime")}}
    if not isinstance(merged, Mapping):
        return merged
    kept = {k: v for k, v in merged.items() if v != {}}
    return None if _is_silent(kept) else kept


def _is_silent(options: Json) -> bool:
    """An option map says something if any of its values does."""
    return isinstance(options, Mapping) and not any(options.values())


def _map(value: Json) -> Document:
    return value if isinstance(value, Mapping) else _NO_DOCUMENT


def _strings(value: Json) -> Sequence[str]:
    return [str(item) for item in value] if isinstance(value, Sequence) else []
