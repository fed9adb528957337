"""How published BERT checkpoints name their heads."""

from sie.adapters.families.bert.config import parse_config
from sie.adapters.families.family import Family, WordHead

BERT = Family(
    parse_config=parse_config,
    prefix="bert.",
    pair_dense="pooler.dense",
    pair_labels="classifier",
    words=WordHead(
        dense="cls.predictions.transform.dense",
        norm="cls.predictions.transform.LayerNorm",
        bias="cls.predictions.bias",
        unused=frozenset(
            {
                "cls.predictions.decoder.weight",
                "cls.predictions.decoder.bias",
                "cls.seq_relationship.weight",
                "cls.seq_relationship.bias",
            }
        ),
    ),
)
