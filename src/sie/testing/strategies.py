"""What Hypothesis draws in this project: ids, configuration, workers, arrays and items, all of them valid.

Ids come in every spelling that their constructor takes; bundles, profiles and models draw adapters from one small set,
so that they meet, miss and extend each other often.
"""

from collections.abc import Mapping
from typing import get_args

import attrs
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_st
from hypothesis.strategies import SearchStrategy

from sie.domain.bundle import CANDLE_ADAPTERS, Bundle
from sie.domain.ids import (
    BundleName,
    MachineProfile,
    ModelId,
    PoolName,
    ProfileName,
    RequestId,
    RouterId,
    WorkerId,
)
from sie.domain.lane import Lane
from sie.domain.model import Json, Model, Precision, Profile
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import ModelState, ModelStateName, WorkerStatus
from sie.wire.ndarray import Array

ADAPTERS = ("acme.enc.small", "acme.enc.big", "acme.rank.one")
"""Modules that drawn bundles list and drawn profiles name."""
FOREIGN_ADAPTER = "acme.nowhere"
"""A module that no drawn bundle lists."""
PROFILES = ("default", "big", "fast", "tiny")
MISSING_PROFILE = "nope"
_SIZED = ("f2", "f4", "f8", "i2", "i4", "i8", "u2", "u4", "u8")
DTYPES = (*(f"{order}{kind}" for order in "<>" for kind in _SIZED), "|b1", "|i1", "|u1")

# JSON and text

texts = st.text(st.characters(codec="utf-8"), max_size=8)
"""Any Unicode that UTF-8 can carry, so no lone surrogates."""
numbers = st.floats(allow_nan=False, allow_infinity=False)
json_scalars: SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), numbers, texts
)
json_values: SearchStrategy[Json] = st.recursive(
    json_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
json_maps: SearchStrategy[Mapping[str, Json]] = st.dictionaries(texts, json_values, max_size=3)
falsy: SearchStrategy[Json] = st.one_of(st.sampled_from((None, False, 0, 0.0, "")), st.builds(list), st.builds(dict))
"""Every value that an option can have and say nothing by (§7)."""

# Ids

model_ids: SearchStrategy[ModelId] = (
    st.builds("{}{}".format, st.sampled_from("aZ0"), st.text("abYZ09._/-", max_size=12))
    .filter(lambda text: not any(part in text for part in ("..", "__", "/_")))
    .filter(lambda text: text != "status" and not text.endswith("/status"))
    .map(ModelId)
)
_tokens = st.text("abYZ09._-", min_size=1, max_size=8)
_hex40 = st.integers(0, 16**40 - 1).map("{:040x}".format)
profile_names: SearchStrategy[ProfileName] = _tokens.map(ProfileName)
bundle_names: SearchStrategy[BundleName] = _tokens.map(BundleName)
machine_profiles: SearchStrategy[MachineProfile] = _tokens.map(MachineProfile)
worker_ids: SearchStrategy[WorkerId] = _tokens.map(WorkerId)
pool_names: SearchStrategy[PoolName] = (
    st.text("adefltu09_-", min_size=1, max_size=8).filter(lambda text: text != "_default").map(PoolName)
)
router_ids: SearchStrategy[RouterId] = st.text("abYZ09_-", min_size=1, max_size=8).map(RouterId)
request_ids: SearchStrategy[RequestId] = st.text("abYZ09_-", min_size=1, max_size=8).map(RequestId)
bundle_hashes: SearchStrategy[str] = st.integers(0, 16**64 - 1).map("{:064x}".format)
lanes: SearchStrategy[Lane] = st.builds(Lane, pool_names, machine_profiles, bundle_names)

# Configuration

adapter_paths: SearchStrategy[str] = st.builds(
    "{}:{}".format, st.sampled_from((*ADAPTERS, FOREIGN_ADAPTER)), st.sampled_from(("Encoder", "Ranker"))
)
_option_maps = st.dictionaries(st.sampled_from(("pooling", "flag", "ü")), json_scalars | falsy, max_size=2)
options: SearchStrategy[Mapping[str, Json]] = st.fixed_dictionaries(
    {}, optional={"loadtime": _option_maps, "runtime": _option_maps, "flag": json_scalars | falsy}
)
"""Adapter options with the published two keys, and one that old configurations have beside them."""
profiles: SearchStrategy[Profile] = st.builds(
    Profile,
    adapter_path=st.none() | adapter_paths,
    max_batch_tokens=st.none() | st.integers(1, 65536),
    compute_precision=st.none() | st.sampled_from(get_args(Precision)),
    options=st.none() | options,
    extends=st.none() | st.sampled_from((*PROFILES, MISSING_PROFILE)).map(ProfileName),
)
"""What these extend may be missing, themselves, or a circle."""
_UNHASHED: tuple[Model, ...] = (
    Model(ModelId("acme/any")),
    Model(ModelId("acme/any"), hf_id="acme/one", encode_dims={"dense": 8}, max_sequence_length=512),
    Model(ModelId("acme/any"), weights_path="/weights", inputs=("text", "image"), scores=True, extracts=True),
)
_profile_maps = st.dictionaries(st.sampled_from(PROFILES).map(ProfileName), profiles, max_size=3)
models: SearchStrategy[Model] = st.builds(
    attrs.evolve,
    st.sampled_from(_UNHASHED),
    sie_id=model_ids,
    profiles=_profile_maps,
    hf_revision=st.sampled_from((None, "0" * 40, "f" * 40)),
    pool=st.sampled_from(("default", "team-a", "team-b")).map(PoolName),
)
"""What no hash looks at is drawn from a few variants."""
_adapters_of: Mapping[str, SearchStrategy[list[str]]] = {
    "pytorch": st.lists(st.sampled_from(ADAPTERS), unique=True, max_size=3),
    "candle": st.sampled_from(([], [CANDLE_ADAPTERS], [f"{CANDLE_ADAPTERS}.small"])),
}
engines: SearchStrategy[str] = st.sampled_from(("pytorch", "pytorch", "candle"))
"""Most are the engine whose adapters drawn models name."""
bundles: SearchStrategy[Bundle] = engines.flatmap(
    lambda engine: st.builds(
        Bundle,
        name=st.sampled_from(("alpha", "beta", "gamma", "Delta.1")).map(BundleName),
        adapters=_adapters_of[engine].map(tuple),
        priority=st.integers(-1, 2),
        engine=st.just(engine),
    )
)
"""Few priorities, so that ties are common."""
bundle_sets: SearchStrategy[list[Bundle]] = st.lists(bundles, unique_by=lambda b: b.name, max_size=3)
catalogs: SearchStrategy[list[Model]] = st.lists(models, unique_by=lambda m: m.sie_id.lower(), max_size=2)
snapshots: SearchStrategy[RegistrySnapshot] = st.builds(RegistrySnapshot.of, bundle_sets, catalogs)

# Configuration, as documents before they are read

profile_documents: SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {},
    optional={
        "adapter_path": st.none() | adapter_paths,
        "max_batch_tokens": st.none() | st.integers(1, 65536),
        "compute_precision": st.none() | st.sampled_from(get_args(Precision)),
        "adapter_options": st.none() | options,
        "extends": st.none() | st.sampled_from((*PROFILES, MISSING_PROFILE)),
        "kv_budget_tokens": st.none() | st.integers(1, 100),
    },
)
model_documents: SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"sie_id": model_ids, "profiles": st.dictionaries(st.sampled_from(PROFILES), profile_documents, max_size=3)},
    optional={
        "hf_id": st.none() | model_ids,
        "hf_revision": st.none() | _hex40,
        "pool": st.sampled_from((None, "", " ", "default", "Team-A", " team-b ")),
        "inputs": st.fixed_dictionaries({}, optional={"text": st.booleans(), "image": st.booleans()}),
        "tasks": st.fixed_dictionaries(
            {},
            optional={
                "encode": st.none() | st.just({"dense": {"dim": 8}, "sparse": None}),
                "score": st.none() | st.just({}),
            },
        ),
        "max_sequence_length": st.none() | st.integers(1, 8192),
    },
)
bundle_documents: SearchStrategy[dict[str, Json]] = engines.flatmap(
    lambda engine: st.fixed_dictionaries(
        {
            "name": st.sampled_from(("alpha", "beta", "gamma")),
            "adapters": _adapters_of[engine],
            **({} if engine == "pytorch" else {"engine": st.just(engine)}),
        },
        optional={
            "priority": st.integers(-1, 2),
            "default": st.booleans(),
            **({"engine": st.just(engine)} if engine == "pytorch" else {}),
        },
    )
)

# Workers

error_codes = st.sampled_from(("MODEL_LOAD_FAILED", "inference_error"))
model_states: SearchStrategy[ModelState] = st.builds(
    ModelState,
    serving_id=model_ids,
    state=st.sampled_from(get_args(ModelStateName)),
    activity=texts,
    error_code=st.none() | error_codes,
    error=st.none() | texts,
    memory_bytes=st.integers(0, 2**40),
)
worker_statuses: SearchStrategy[WorkerStatus] = st.builds(
    WorkerStatus,
    worker=worker_ids,
    lane=lanes,
    bundle_config_hash=st.none() | bundle_hashes,
    ready=st.booleans(),
    draining=st.booleans(),
    device=st.sampled_from(("cpu", "cuda:0")),
    models=st.lists(model_states, max_size=3).map(tuple),
    pending_items=st.integers(0, 10**6),
    timestamp_s=numbers,
)

# Arrays and items

arrays: SearchStrategy[Array] = st.sampled_from(DTYPES).flatmap(
    lambda dtype: numpy_st.arrays(
        np.dtype(dtype), numpy_st.array_shapes(min_dims=0, max_dims=8, min_side=0, max_side=3)
    )
)
"""Every dtype and number of dimensions that the wire form takes, empty ones too."""
items: SearchStrategy[Mapping[str, Json]] = st.fixed_dictionaries(
    {"text": texts}, optional={"id": texts, "metadata": json_maps}
)
"""Inputs as clients send them."""
