"""The hash rule of §7 once more, written from the reference's text alone: parsed documents in, orjson's bytes hashed.

It shares nothing with `sie.domain`, so that a mistake in one of the two shows.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import orjson

from sie.domain.model import Json

Document = Mapping[str, Json]
FIELDS = ("adapter_options", "adapter_path", "compute_precision", "max_batch_tokens")
_NO_DOCUMENT: Document = {}


def second_bundle_hash(bundle: Document, models: Iterable[Document], pool: str | None = None) -> str:
    """Over models by id: revision, and per profile by name the four routable fields; `""` where there are none."""
    adapters = _strings(bundle["adapters"])
    scoped = [m for m in models if pool in (None, pool_of(m))]
    rows = [row for m in sorted(scoped, key=lambda m: str(m["sie_id"])) if (row := _row(m, adapters))]
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


def pool_of(model: Document) -> str:
    return str(model.get("pool") or "").strip().lower() or "default"


def _row(model: Document, adapters: Sequence[str]) -> Document | None:
    profiles = _map(model["profiles"])
    resolved = {name: fields for name in sorted(profiles) if (fields := _resolve(profiles, name)) is not None}
    modules = {
        name: str(f["adapter_path"]).split(":")[0] if f["adapter_path"] else None for name, f in resolved.items()
    }
    if not set(modules.values()) & set(adapters):
        return None
    kept = [name for name in resolved if modules[name] is None or modules[name] in adapters]
    rows: list[Json] = [{"name": name, "config": _said(resolved[name])} for name in kept]
    return {"sie_id": model["sie_id"], "revision": model.get("hf_revision"), "profiles": rows}


def _resolve(profiles: Document, name: str, trail: tuple[str, ...] = ()) -> Document | None:
    if name in trail or name not in profiles:
        return None
    own = _map(profiles[name])
    if not own.get("extends"):
        return {key: own.get(key) for key in FIELDS}
    above = _resolve(profiles, str(own["extends"]), (*trail, name))
    if above is None:
        return None
    fields = {key: above[key] if own.get(key) is None else own[key] for key in FIELDS}
    said = {k: v for k, v in _map(own.get("adapter_options")).items() if v or k not in ("loadtime", "runtime")}
    return {**fields, "adapter_options": {**_map(above["adapter_options"]), **said}}


def _said(fields: Document) -> Document:
    """An option map says something if any of its values does."""
    options = fields["adapter_options"]
    return {**fields, "adapter_options": options if any(_map(options).values()) else None}


def _map(value: Json) -> Document:
    return value if isinstance(value, Mapping) else _NO_DOCUMENT


def _strings(value: Json) -> Sequence[str]:
    return [str(item) for item in value] if isinstance(value, Sequence) else []
