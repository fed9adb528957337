"""A text is in its prompt as it is, whatever it holds, and the instruction where the template wants it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.api import EncodeInput, LoadFailed
from sie.adapters.tasks.prompts import Prompts, parse_prompts

texts = st.text() | st.sampled_from(("{text}", "{instruction}", "a {text} b", "\\1", "{0}"))


@given(texts, st.none() | texts, st.booleans())
def test_without_a_template_an_instruction_comes_before_the_text(
    text: str, instruction: str | None, is_query: bool
) -> None:
    assert Prompts().of(EncodeInput(text, instruction, is_query)) == (instruction or "") + text


@given(texts, st.none() | texts, st.booleans())
def test_a_query_and_a_document_have_templates_of_their_own(text: str, instruction: str | None, is_query: bool) -> None:
    prompts = parse_prompts({"query_template": "query: {text}", "doc_template": "passage: {text}."})
    given_text = (instruction or "") + text
    wanted = f"query: {given_text}" if is_query else f"passage: {given_text}."
    assert prompts.of(EncodeInput(text, instruction, is_query)) == wanted


@given(texts, st.none() | texts)
def test_an_instruction_goes_where_the_template_has_a_place_and_the_profiles_own_where_none_is_given(
    text: str, instruction: str | None
) -> None:
    prompts = parse_prompts({"query_template": "Do {instruction}: {text}", "instruction": "find"})
    assert prompts.of(EncodeInput(text, instruction, is_query=True)) == f"Do {instruction or 'find'}: {text}"


@pytest.mark.parametrize("runtime", [{"query_template": "x"}, {"doc_template": 5}, {"instruction": ["a"]}])
def test_a_template_without_a_place_for_the_text_is_refused(runtime: dict[str, object]) -> None:
    with pytest.raises(LoadFailed, match=r"runtime\.") as refused:
        parse_prompts(runtime)
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)
