"""What the tasks need to know of a family beside its network: how its checkpoints name things."""

from collections.abc import Callable, Mapping

import attrs

from sie.adapters.families.bert.config import BertConfig
from sie.adapters.families.fields import Fields, refused


@attrs.frozen
class WordHead:
    """The head that guesses words: a dense layer, a LayerNorm, and a bias on the words of the embedding.

    `unused` are copies of these, and what a checkpoint with this head may hold beside it.
    """

    dense: str
    norm: str
    bias: str
    unused: frozenset[str]


@attrs.frozen
class Family:
    """`prefix` is what the names of a checkpoint with a head begin with.

    `pair_dense` (of the first token, then tanh) and `pair_labels` are the two layers that classify a whole sequence.
    """

    parse_config: Callable[[Fields], BertConfig]
    prefix: str
    pair_dense: str
    pair_labels: str
    words: WordHead


def family_of(fields: Fields, known: Mapping[str, Family]) -> Family:
    """By the `model_type` of config.json; without one it is a BERT, as the oldest are. Raises LoadFailed(CONFIG)."""
    kind = fields.get("model_type", "bert")
    family = known.get(kind) if isinstance(kind, str) else None
    if family is None:
        raise refused(f"model_type is {kind!r}; the families here are {', '.join(known)}")
    return family
