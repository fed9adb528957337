"""A checkpoint's own tokenizer, set to the model's length: no padding, cut on the right, special tokens kept."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs
from tokenizers import Encoding, Tokenizer

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


@attrs.frozen
class Pair:
    """Two texts that are read together."""

    first: str
    second: str


@attrs.frozen
class Typed:
    """`types` tells the first text, 0, from the second, 1."""

    ids: Sequence[int]
    types: Sequence[int]


def pair_tokens(tokenizer: Tokenizer, pairs: Iterable[Pair]) -> Sequence[Typed]:
    """Cut to the maximum length together: the longer text is cut first."""
    texts = [(well_formed(pair.first), well_formed(pair.second)) for pair in pairs]
    return [Typed(encoding.ids, encoding.type_ids) for encoding in tokenizer.encode_batch(texts)]


@attrs.frozen
class Placed:
    """`spans` are where `ids` are in the text, in characters, and `words` which word of it each is of.

    `before` and `after` are the special ones around them.
    """

    before: Sequence[int]
    ids: Sequence[int]
    spans: Sequence[tuple[int, int]]
    words: Sequence[int | None]
    after: Sequence[int]


def placed_tokens(tokenizer: Tokenizer, texts: Iterable[str]) -> Sequence[Placed]:
    """Of texts that are well-formed. Nothing is cut where the tokenizer does not truncate."""
    return [_placed(encoding) for encoding in tokenizer.encode_batch(list(texts))]


def _placed(encoding: Encoding) -> Placed:
    special = encoding.special_tokens_mask
    start = special.index(0) if 0 in special else len(special) // 2
    end = len(special) - (special[::-1].index(0) if 0 in special else len(special) - start)
    return Placed(
        before=encoding.ids[:start],
        ids=encoding.ids[start:end],
        spans=encoding.offsets[start:end],
        words=encoding.word_ids[start:end],
        after=encoding.ids[end:],
    )


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
