"""YAML reads as the usual safe loader reads it, or is refused (wire-facts 3.3)."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.converters import WireError
from sie.wire.json_value import MAX_NESTING, as_json
from sie.wire.yaml_reading import load_yaml
from tests.wire.refusals import problems_of

YAML_TEXTS = st.text(st.sampled_from("[]{}:,-?!&*#|>'\"%@` \n\t0aebxo_.~<=\ud800\0"), max_size=12) | st.text()
SCALARS = st.text(st.sampled_from("0123456789abcdefxo_.:+-~yYnNeEsSuUlLtTrRiI"), min_size=1, max_size=8)
STYLES = st.sampled_from((True, False, None))
SHAPES = ("{}", "a: {}", "- {}\n- x", "!!int {}", "!!timestamp {}", "!!bool {}", "!!float 1:{}", "{{a: 1, {}: 2}}")


@given(strategies.json_maps, STYLES)
def test_it_gives_the_json_value_that_was_written(value: dict[str, Json], style: bool | None) -> None:
    assert load_yaml(yaml.safe_dump(value, default_flow_style=style)) == value


@given(YAML_TEXTS | SCALARS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_not_refused_is_what_the_safe_loader_loads(shape: str, text: str) -> None:
    document = shape.format(text)
    try:
        found = load_yaml(document)
    except WireError:
        return
    loaded = yaml.load(document, Loader=yaml.CSafeLoader)
    assert (found, repr(found)) == (loaded, repr(loaded))
    json.dumps(found, allow_nan=False).encode()


@given(SCALARS)
def test_a_plain_scalar_that_the_safe_loader_takes_for_json_is_taken(text: str) -> None:
    try:
        loaded = as_json(yaml.load(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):  # a WireError, or a date that there is not
        return
    assert repr(load_yaml(text)) == repr(loaded)


@given(st.lists(st.text("xyz", min_size=1), unique=True), st.text("abc", min_size=1), st.integers(1, 3))
def test_a_key_that_stands_twice_is_refused(others: list[str], key: str, depth: int) -> None:
    text = "{" + ", ".join([f"{name}: {{{key}: 0}}" for name in (key, *others, key)]) + "}"
    for _ in range(depth):
        text = f"[{text}]"
    assert [(p.loc, p.message) for p in problems_of(load_yaml, text)] == [
        ((*[0] * depth, key), "stands twice in its map (line 1)")
    ]


@given(st.integers(1, MAX_NESTING * 2), st.sampled_from(("[", "- ", "{a: ")))
def test_a_nest_is_read_to_a_bound(depth: int, opening: str) -> None:
    text = opening * depth + "1" + {"[": "]", "- ": "", "{a: ": "}"}[opening] * depth
    assert bool(problems_of(load_yaml, text)) == (depth > MAX_NESTING)
