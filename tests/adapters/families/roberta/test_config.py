"""Which config.json these families accept, and which family it is."""

import pytest

from sie.adapters.api import LoadFailed
from sie.adapters.families.bert.family import BERT
from sie.adapters.families.family import family_of
from sie.adapters.families.roberta.config import parse_config
from sie.adapters.families.roberta.family import ROBERTA
from tests.adapters.checkpoints import TINY

CONFIG = {**TINY, "model_type": "roberta", "type_vocab_size": 1}
KNOWN = {"bert": BERT, "roberta": ROBERTA, "xlm-roberta": ROBERTA}


@pytest.mark.parametrize(("pad", "offset"), [({}, 2), ({"pad_token_id": 1}, 2), ({"pad_token_id": 0}, 1)])
def test_positions_begin_after_that_of_the_padding_token(pad: dict[str, object], offset: int) -> None:
    config = parse_config({**CONFIG, **pad})
    assert (config.position_offset, config.positions) == (offset, 32 - offset)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"model_type": "camembert"}, "model_type is 'camembert', and not one of roberta, xlm-roberta"),
        ({"hidden_act": "relu"}, "hidden_act is 'relu'; this adapter implements only 'gelu'"),
        ({"pad_token_id": -1}, "pad_token_id must be a token's id, not -1"),
        ({"pad_token_id": None}, "pad_token_id must be a token's id, not None"),
        ({"pad_token_id": 31}, "32 positions leave none after pad_token_id"),
        ({"type_vocab_size": 0}, "type_vocab_size must be a positive integer, not 0"),
    ],
)
def test_what_the_network_would_compute_otherwise_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(LoadFailed, match=complaint) as refused:
        parse_config({**CONFIG, **change})
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)


def test_a_family_goes_by_its_model_type_and_the_oldest_checkpoints_are_berts() -> None:
    assert family_of({"model_type": "xlm-roberta"}, KNOWN) is ROBERTA
    assert family_of({}, KNOWN) is BERT


@pytest.mark.parametrize("kind", ["t5", None, ["bert"]])
def test_an_unknown_family_is_told_which_ones_there_are(kind: object) -> None:
    with pytest.raises(LoadFailed, match="the families here are bert, roberta, xlm-roberta") as refused:
        family_of({"model_type": kind}, KNOWN)
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)
