"""Writes to the double's objects, as Hypothesis draws them: few names and two colors, so that they meet often."""

import random

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.values import ConfigMap
from sie.testing.kube.contract import config_map
from sie.testing.kube.model import KubeModel, Scope
from sie.testing.kube.resources import CONFIG_MAPS as RESOURCE
from sie.testing.kube.selecting import parse_selector

SELECTOR = "color=red"
SCOPE = Scope(RESOURCE, "default", parse_selector(SELECTOR, ""))


@attrs.frozen
class Write:
    """The object of that name is as told afterwards; without a color it is deleted."""

    name: str
    color: str | None
    value: str


def writes() -> SearchStrategy[Write]:
    colors = st.sampled_from(("red", "red", "blue", None))
    return st.builds(Write, st.sampled_from("abcd"), colors, st.sampled_from("xyz"))


def new_model() -> KubeModel:
    return KubeModel(lambda: 1_000_000.0, random.Random(0))


def write(model: KubeModel, wanted: Write) -> None:
    held = model.holds(RESOURCE, "default", wanted.name)
    if wanted.color is None:
        if held:
            model.delete(RESOURCE, "default", wanted.name)
        return
    document = config_map(wanted.name, data={"value": wanted.value}, labels={"color": wanted.color})
    if held:
        model.replace(RESOURCE, "default", wanted.name, document)
    else:
        model.create(RESOURCE, "default", document)


def held_by(model: KubeModel) -> dict[str, ConfigMap]:
    """What a mirror of the red ones should hold."""
    found = map(CONFIG_MAPS.read, model.listed(SCOPE))
    return {item.metadata.name: item for item in found}
