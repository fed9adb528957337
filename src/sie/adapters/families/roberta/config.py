"""Which RoBERTa (Liu et al., 2019) or XLM-RoBERTa a config.json describes.

The network is BERT's. Its positions begin after that of the padding token, so the table has that many rows unused.
"""

from sie.adapters.families.bert.config import ARITHMETIC, BertConfig, parse_sizes
from sie.adapters.families.fields import Fields, check_implemented, refused

MODEL_TYPES = ("roberta", "xlm-roberta")
_PAD_TOKEN_ID = 1


def parse_config(fields: Fields) -> BertConfig:
    """Raises LoadFailed(CONFIG)."""
    if fields.get("model_type") not in MODEL_TYPES:
        raise refused(f"model_type is {fields.get('model_type')!r}, and not one of {', '.join(MODEL_TYPES)}")
    check_implemented(fields, ARITHMETIC)
    config = parse_sizes(fields, position_offset=_pad_token_id(fields) + 1)
    if config.positions < 1:
        raise refused(f"{config.max_position_embeddings} positions leave none after pad_token_id")
    return config


def _pad_token_id(fields: Fields) -> int:
    value = fields.get("pad_token_id", _PAD_TOKEN_ID)
    if type(value) is not int or value < 0:
        raise refused(f"pad_token_id must be a token's id, not {value!r}")
    return value
