"""The models and bundles of `ci/simulate --processes --rolling`: four models made of one checkpoint, which two bundles
serve. Pure.

Each pools or words its texts in a way of its own, so that a text has four vectors that cannot be taken for each other.
"""

import json
from collections.abc import Mapping
from random import Random
from typing import Final

import attrs

from ci.lib.demo_model import DOCUMENT
from ci.lib.processes_asking import TEXTS, Ask, draw_ask
from sie.domain.model import Json
from sie.wire.documents import load_yaml

FIRST: Final = "default"
SECOND: Final = "second"
BUNDLES: Mapping[str, int] = {FIRST: 10, SECOND: 20}
"""By name their priority: the second serves only what names it."""
WORKERS: Mapping[str, str] = {"worker-a": FIRST, "worker-b": FIRST, "worker-c": SECOND}
ADAPTERS = ("sie.adapters.tasks.dense",)
WORDED = "something altogether different about {text}"
MODELS: Mapping[str, Mapping[str, Json]] = {
    "ours/mean": {"pooling": "mean"},
    "ours/first": {"pooling": "cls"},
    "ours/worded-mean": {"pooling": "mean", "doc_template": WORDED},
    "ours/worded-first": {"pooling": "cls", "doc_template": WORDED},
}
"""By id what its vectors depend on."""
MODEL_BYTES = 22_565_376 * 4
"""Of the checkpoint's weights."""
LIMIT_BYTES = MODEL_BYTES * 5 // 2
"""Two models, and no third."""
NAMES_SECOND = 1 / 3
"""Of all requests, as of all workers."""


def bundle_text(name: str) -> str:
    return json.dumps({"name": name, "priority": BUNDLES[name], "adapters": ADAPTERS})


def model_text(name: str) -> str:
    """As the shipped document of the checkpoint, which is JSON here and YAML all the same."""
    document = load_yaml(DOCUMENT.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    options = document["profiles"]["default"]["adapter_options"]
    options["runtime"] = {**options["runtime"], **MODELS[name]}
    return json.dumps({**document, "sie_id": name})


def spellings(model: str) -> tuple[str, str]:
    """How requests name it: for the best bundle, and for the second."""
    return model, f"{SECOND}:/{model}"


def draw_mixed(seed: int, number: int, texts: int = TEXTS) -> Ask:
    """Any of the models, of either bundle."""
    luck = Random(f"model {seed} {number}")
    best, second = spellings(luck.choice(tuple(MODELS)))
    return attrs.evolve(draw_ask(seed, number, texts), model=second if luck.random() < NAMES_SECOND else best)
