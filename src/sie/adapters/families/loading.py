"""A checkpoint of any family, from wherever it is to a network that runs, with the head of a task on it.

Programs of an earlier start are taken from the store; then neither Flax nor a compiler is needed.
"""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import attrs
from tokenizers import Tokenizer

from sie.adapters.api import LoadFailed, ModelSpec, Progress, Report, check_room
from sie.adapters.compile import compile_buckets
from sie.adapters.families.bert.config import BertConfig
from sie.adapters.families.bert.family import BERT
from sie.adapters.families.bert.params import load_weights
from sie.adapters.families.family import Family, family_of
from sie.adapters.families.fields import Fields, read_fields
from sie.adapters.families.roberta.config import MODEL_TYPES
from sie.adapters.families.roberta.family import ROBERTA
from sie.adapters.packing import ladder
from sie.adapters.program_store import ProgramStore, Stored
from sie.adapters.running import Network
from sie.adapters.stages import Head
from sie.adapters.tokenizing import open_tokenizer, sentence_limit
from sie.adapters.weights import offline_by_environment, resolve_checkpoint

FAMILIES: Mapping[str, Family] = {"bert": BERT, **dict.fromkeys(MODEL_TYPES, ROBERTA)}


@attrs.frozen
class Found:
    """A checkpoint on this machine, before its weights are read. `fields` are those of config.json."""

    spec: ModelSpec
    folder: Path
    family: Family
    config: BertConfig
    fields: Fields
    max_length: int
    tokenizer: Tokenizer


def find_checkpoint(spec: ModelSpec, *, cache_dir: str, report: Report) -> Found:
    """Raises LoadFailed."""
    cache = Path(cache_dir)
    folder = resolve_checkpoint(spec, cache, report, offline=offline_by_environment(os.environ)).folder
    report(Progress("loading"))
    fields = read_fields(folder)
    family = family_of(fields, FAMILIES)
    config = family.parse_config(fields)
    max_length = _max_length(spec, folder, config)
    tokenizer = open_tokenizer(folder, vocab_size=config.vocab_size, max_length=max_length)
    return Found(spec, folder, family, config, fields, max_length, tokenizer)


def open_network(found: Found, head: Head, *, cache_dir: str, report: Report) -> Network:
    """Raises LoadFailed."""
    buckets = ladder(found.max_length)
    made_from = (found.family.prefix, repr(found.config), head.made_from, repr(buckets))
    fill = partial(load_weights, found.folder, prefix=found.family.prefix, unused=head.unused)
    store = ProgramStore.of(Path(cache_dir), (part.encode() for part in made_from))
    stored = store.load()
    if stored is not None:
        check_room(stored.layout.weight_bytes, found.spec)
        return Network(stored.programs, fill(stored.layout))
    from sie.adapters.families.bert.network import stages_of  # noqa: PLC0415 - brings Flax, which a warm start does without

    stages = stages_of(found.config, head)
    check_room(stages.layout.weight_bytes, found.spec)
    weights = fill(stages.layout)
    programs = compile_buckets(stages, weights, buckets, report)
    store.save(Stored(stages.layout, programs), weights)
    return Network(programs, weights)


def _max_length(spec: ModelSpec, folder: Path, config: BertConfig) -> int:
    limit = spec.max_sequence_length or sentence_limit(folder) or config.positions
    if limit > config.positions:
        raise LoadFailed(
            f"max_sequence_length {limit} is over the model's {config.positions} positions",
            error_class="CONFIG",
            permanent=True,
        )
    return limit
