"""The model that the demo and the benchmarks run: its checkpoint on this machine, and its own tokenizer."""

import os
from collections.abc import Mapping
from pathlib import Path

from tokenizers import Tokenizer

from ci.lib.corpus import CountTokens
from ci.lib.environment import ROOT
from sie.adapters.api import ModelSpec, Report
from sie.adapters.weights import offline_by_environment, resolve_checkpoint
from sie.cli.folders import resolve_folders
from sie.cli.settings import DEFAULT_MODEL
from sie.domain.ids import DEFAULT_PROFILE
from sie.domain.model import Profile
from sie.wire.documents import parse_model

DOCUMENT = ROOT / "bundles" / "models" / f"{DEFAULT_MODEL.replace('/', '__')}.yaml"


def cache_folder() -> Path:
    """Where `sie up` would keep weights and compiled programs if it were not told otherwise."""
    return resolve_folders(None, os.environ.get("SIE_CACHE_DIR"), environ=os.environ, home=Path.home()).cache


def fetch_checkpoint(report: Report) -> Path:
    """The folder of the checkpoint, downloaded if this machine does not have it. Raises LoadFailed."""
    offline = offline_by_environment(os.environ)
    return resolve_checkpoint(model_spec(), cache_folder(), report, offline=offline).folder


def model_spec() -> ModelSpec:
    model = parse_model(DOCUMENT.read_text(encoding="utf-8"))
    profile = model.profiles[DEFAULT_PROFILE]
    return ModelSpec(
        model_id=model.sie_id,
        hf_id=model.hf_id,
        hf_revision=model.hf_revision,
        weights_path=model.weights_path,
        max_sequence_length=model.max_sequence_length,
        loadtime=options(profile, "loadtime"),
        runtime=options(profile, "runtime"),
    )


def options(profile: Profile, part: str) -> Mapping[str, object]:
    found = (profile.options or {}).get(part)
    return found if isinstance(found, Mapping) else {}


def token_counter(checkpoint: Path) -> CountTokens:
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
