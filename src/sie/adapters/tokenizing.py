"""A checkpoint's own tokenizer, set to the model's length: no padding, cut on the right, special tokens kept."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer

from sie.adapters.api import LoadFailed
from sie.adapters.text import well_formed

TOKENIZER_FILE = "tokenizer.json"


def open_tokenizer(folder: Path, *, vocab_size: int, max_length: int) -> Tokenizer:
    """Raises LoadFailed(CONFIG): an id past the embedding table would otherwise be clipped to another word's vector."""
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    except Exception as error:  # the library raises a bare Exception for any file that it cannot use
        raise _refused(f"{folder / TOKENIZER_FILE} cannot be used: {error}") from error
    if tokenizer.get_vocab_size() > vocab_size:
        raise _refused(f"the tokenizer knows {tokenizer.get_vocab_size()} tokens, the model only {vocab_size}")
    specials = tokenizer.num_special_tokens_to_add(is_pair=False)
    if not 0 < specials < max_length:
        raise _refused(f"{specials} special tokens around each text do not fit texts of 1 to {max_length} tokens")
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    return tokenizer


def token_ids(tokenizer: Tokenizer, texts: Iterable[str]) -> Sequence[Sequence[int]]:
    """The ids of each text, between 1 and the maximum length; an empty text has the special tokens alone."""
    return [encoding.ids for encoding in tokenizer.encode_batch([well_formed(text) for text in texts])]


def sentence_limit(folder: Path) -> int | None:
    """`max_seq_length` of sentence-transformers: below the position table where the model was trained on less."""
    path = folder / "sentence_bert_config.json"
    if not path.is_file():
        return None
    fields = json.loads(path.read_bytes())
    limit = fields.get("max_seq_length") if isinstance(fields, dict) else None
    return limit if isinstance(limit, int) else None


def _refused(message: str) -> LoadFailed:
    return LoadFailed(message, error_class="CONFIG", permanent=True)
