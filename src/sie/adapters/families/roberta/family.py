"""How published RoBERTa and XLM-RoBERTa checkpoints name their heads; the encoder's names are those of BERT."""

from sie.adapters.families.family import Family, WordHead
from sie.adapters.families.roberta.config import parse_config

ROBERTA = Family(
    parse_config=parse_config,
    prefix="roberta.",
    pair_dense="classifier.dense",
    pair_labels="classifier.out_proj",
    words=WordHead(
        dense="lm_head.dense",
        norm="lm_head.layer_norm",
        bias="lm_head.bias",
        unused=frozenset({"lm_head.decoder.weight", "lm_head.decoder.bias"}),
    ),
)
