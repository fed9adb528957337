"""Any string becomes one that a tokenizer takes, and a good one stays as it is."""

from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.text import well_formed

any_text = st.text(st.characters(exclude_categories=()))


@given(any_text)
def test_every_string_becomes_encodable(text: str) -> None:
    assert well_formed(text).encode().decode() == well_formed(text)


@given(st.text())
def test_well_formed_text_is_unchanged(text: str) -> None:
    assert well_formed(text) == text


@given(st.characters(min_codepoint=0x10000))
def test_a_surrogate_pair_becomes_its_character(character: str) -> None:
    units = character.encode("utf-16-be")
    pair = chr(int.from_bytes(units[:2], "big")) + chr(int.from_bytes(units[2:], "big"))
    assert well_formed(f"a{pair}b") == f"a{character}b"


@given(st.characters(categories=["Cs"]))
def test_a_lone_surrogate_becomes_the_replacement_character(surrogate: str) -> None:
    assert well_formed(f"a{surrogate}b") == "a\ufffdb"
