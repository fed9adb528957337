"""Which config.json this family accepts."""

from pathlib import Path

import pytest

from sie.adapters.api import LoadFailed
from sie.adapters.families.bert.config import parse_config
from sie.adapters.families.fields import read_fields
from tests.adapters.checkpoints import TINY


def test_the_sizes_are_read_as_published() -> None:
    config = parse_config(TINY)
    assert (config.hidden_size, config.num_hidden_layers, config.head_size, config.layer_norm_eps) == (32, 2, 8, 1e-12)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"model_type": "roberta"}, "model_type is 'roberta'"),
        ({"hidden_act": "gelu_new"}, "hidden_act is 'gelu_new'; this adapter implements only 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"is_decoder": True}, "is_decoder is True"),
        ({"hidden_size": "32"}, "hidden_size must be a positive integer, not '32'"),
        ({"vocab_size": True}, "vocab_size must be a positive integer, not True"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a positive integer, not 0"),
        ({"num_attention_heads": 5}, "hidden_size 32 does not divide into 5 heads"),
        ({"layer_norm_eps": 0.0}, "layer_norm_eps must be a positive number, not 0.0"),
    ],
)
def test_what_the_network_would_compute_otherwise_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(LoadFailed, match=complaint) as refused:
        parse_config({**TINY, **change})
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(LoadFailed, match=r"config\.json: not"):
        read_fields(tmp_path)
