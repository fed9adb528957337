"""Whether a cross-encoder's scores are squeezed: the profile says, or else the checkpoint."""

from collections.abc import Mapping

import pytest

from sie.adapters.api import LoadFailed

pytestmark = pytest.mark.engine

OLD = "sbert_ce_default_activation_function"


def activation(runtime: Mapping[str, object], **fields: object) -> str:
    from sie.adapters.tasks.cross_encoder import activation_of  # noqa: PLC0415 - brings JAX

    return activation_of(runtime, fields)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "sigmoid"),
        ({OLD: None}, "sigmoid"),
        ({OLD: "torch.nn.modules.linear.Identity"}, "none"),
        ({OLD: "torch.nn.modules.activation.Sigmoid"}, "sigmoid"),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}, OLD: "a.Sigmoid"}, "none"),
        ({"sentence_transformers": {"version": "5.0.0"}}, "sigmoid"),
    ],
)
def test_the_checkpoint_says_where_the_profile_does_not(fields: dict[str, object], name: str) -> None:
    assert activation({}, **fields) == name


@pytest.mark.parametrize("name", ["sigmoid", "none"])
def test_the_profile_has_the_last_word(name: str) -> None:
    assert activation({"activation": name}, **{OLD: "torch.nn.modules.activation.Softplus"}) == name


@pytest.mark.parametrize("named", ["torch.nn.modules.activation.Softplus", 5])
def test_another_activation_is_refused_by_name(named: object) -> None:
    with pytest.raises(LoadFailed, match=f"the activation is {named!r}, and neither Sigmoid nor Identity") as refused:
        activation({}, **{OLD: named})
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)
