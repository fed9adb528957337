"""May this document be written as a model? The whole schema of wire-facts 3.6, as a table of its fields.

Only writes are held to it. What other services and older releases wrote is read by `documents.model_of`, which looks
at what it needs: a field that a newer peer knows must not take its model out of the catalogue.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, get_args

from sie.domain.model import OPTION_PARTS, EncodeOutput, Precision
from sie.wire import schema
from sie.wire.converters import Problem
from sie.wire.schema import Check, any_map, integer, list_of, map_of, nullable, number, one_of, text, truth

UNKNOWN_FIELD: Final = "Unknown field: the worker model config schema does not define it."
"""The published service's words, which tools match on (wire-facts 3.3)."""

_record = partial(schema.record, unknown=UNKNOWN_FIELD)
_grammar = one_of("json_schema", "regex", "ebnf")
_positive = integer(least=1)

_PROFILE: Mapping[str, Check] = {
    "extends": nullable(text),
    "max_batch_tokens": nullable(_positive),
    "compute_precision": nullable(one_of(*get_args(Precision))),
    "adapter_path": nullable(text),
    "adapter_options": _record(dict.fromkeys(OPTION_PARTS, any_map)),
    "adaptive_batching": nullable(
        _record(
            {
                "enabled": nullable(truth),
                "target_p50_ms": nullable(number()),
                "calibration_multiplier": nullable(number()),
                "min_target_p50_ms": nullable(number()),
                "max_target_p50_ms": nullable(number()),
                "min_wait_ms": nullable(number()),
                "max_wait_ms": nullable(number()),
                "gain": nullable(number()),
                "integral_gain": nullable(number()),
            }
        )
    ),
    "kv_budget_tokens": nullable(_positive),
    "admission_enabled": nullable(truth),
    "max_output_tokens": nullable(_positive),
    "chat_template_kwargs": nullable(any_map),
    "grammar_profile": nullable(text),
}

_GENERATE: Mapping[str, Check] = {
    "context_length": _positive,
    "max_output_tokens": _positive,
    "capabilities": _record(
        {"grammar": list_of(_grammar), **dict.fromkeys(("streaming", "tools", "code", "sql", "guard"), truth)}
    ),
    "chat_template_kwargs": any_map,
    "prewarm_grammars": list_of(_record({"name": text, "kind": _grammar, "value": schema.text_or_map})),
    "grammar_profile": nullable(text),
}

_ROUTING: Mapping[str, Check] = {
    "policy": one_of("remote_only", "fallback", "threshold"),
    "fallback_profile": nullable(text),
    "triggers": nullable(list_of(one_of("provisioning", "model_loading", "saturated", "unhealthy"))),
    **dict.fromkeys(("wake_above", "sleep_below", "window_s", "cooldown_s"), nullable(number(above=0))),
}

_TASKS: Mapping[str, Check] = {
    "encode": nullable(_record(dict.fromkeys(get_args(EncodeOutput), nullable(_record({"dim": _positive}))))),
    "score": nullable(_record({})),
    "extract": nullable(_record({})),
    "generate": nullable(_record(_GENERATE)),
}

_MODEL: Check = _record(
    {
        "sie_id": text,
        "hf_id": nullable(text),
        "hf_revision": nullable(text),
        "hf_tokenizer_dependencies": map_of(text),
        "weights_path": nullable(text),
        "package_backed": truth,
        "remote_backed": truth,
        "routing": nullable(_record(_ROUTING)),
        "pool": nullable(text),
        "inputs": _record(dict.fromkeys(("text", "image", "audio", "video", "document"), truth)),
        "tasks": _record(_TASKS),
        "max_sequence_length": nullable(_positive),
        "profiles": map_of(_record(_PROFILE)),
    }
)


def check_model_schema(config: object) -> tuple[Problem, ...]:
    """Everything that is wrong with it, sorted by place; `config` is JSON, as `load_yaml` gives it."""
    return schema.problems_of(_MODEL, config)
