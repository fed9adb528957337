"""A BERT checkpoint, from wherever it is to a network that runs, with the head of a task on it.

Programs of an earlier start are taken from the store; then neither Flax nor a compiler is needed.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import attrs
from tokenizers import Tokenizer

from sie.adapters.api import LoadFailed, ModelSpec, Progress, Report, check_room
from sie.adapters.compile import compile_buckets
from sie.adapters.families.bert.config import BertConfig, parse_config, read_fields
from sie.adapters.families.bert.params import load_weights
from sie.adapters.packing import ladder
from sie.adapters.program_store import ProgramStore, Stored
from sie.adapters.running import Network
from sie.adapters.stages import Head
from sie.adapters.tokenizing import open_tokenizer, sentence_limit
from sie.adapters.weights import offline_by_environment, resolve_checkpoint


@attrs.frozen
class Found:
    """A checkpoint on this machine, before its weights are read. `fields` are those of config.json."""

    spec: ModelSpec
    folder: Path
    config: BertConfig
    fields: Mapping[str, object]
    max_length: int
    tokenizer: Tokenizer


def find_bert(spec: ModelSpec, *, cache_dir: str, report: Report) -> Found:
    """Raises LoadFailed."""
    cache = Path(cache_dir)
    folder = resolve_checkpoint(spec, cache, report, offline=offline_by_environment(os.environ)).folder
    report(Progress("loading"))
    fields = read_fields(folder)
    config = parse_config(fields)
    max_length = _max_length(spec, folder, config)
    tokenizer = open_tokenizer(folder, vocab_size=config.vocab_size, max_length=max_length)
    return Found(spec, folder, config, fields, max_length, tokenizer)


def open_bert(found: Found, head: Head, *, cache_dir: str, report: Report) -> Network:
    """Raises LoadFailed."""
    buckets = ladder(found.max_length)
    made_from = (repr(found.config), head.made_from, repr(buckets))
    store = ProgramStore.of(Path(cache_dir), (part.encode() for part in made_from))
    stored = store.load()
    if stored is not None:
        check_room(stored.layout.weight_bytes, found.spec)
        return Network(stored.programs, load_weights(found.folder, stored.layout, head.unused))
    from sie.adapters.families.bert.network import stages_of  # noqa: PLC0415 - brings Flax, which a warm start does without

    stages = stages_of(found.config, head)
    check_room(stages.layout.weight_bytes, found.spec)
    weights = load_weights(found.folder, stages.layout, head.unused)
    programs = compile_buckets(stages, weights, buckets, report)
    store.save(Stored(stages.layout, programs), weights)
    return Network(programs, weights)


def _max_length(spec: ModelSpec, folder: Path, config: BertConfig) -> int:
    limit = spec.max_sequence_length or sentence_limit(folder) or config.max_position_embeddings
    if limit > config.max_position_embeddings:
        raise LoadFailed(
            f"max_sequence_length {limit} is over the model's {config.max_position_embeddings} positions",
            error_class="CONFIG",
            permanent=True,
        )
    return limit
