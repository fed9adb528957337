"""Entities are in the text where they say, apart from each other, and made of tokens that agree."""

from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.tasks.entities import Label, Tagged, entities_of, parse_label

labels = st.sampled_from(("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC")).map(parse_label)


@st.composite
def tagged_texts(draw: st.DrawFn) -> tuple[str, list[Tagged]]:
    """Tokens of a text, in its order, with or without blanks between them."""
    text, tokens = "", list[Tagged]()
    for word in range(draw(st.integers(0, 12))):
        text += draw(st.sampled_from(("", " ", "\n", ", ")))
        piece = draw(st.text("abcdé漢", min_size=1, max_size=4))
        number = draw(st.none() | st.just(word) | st.just(word - 1))
        tokens.append(Tagged(draw(labels), draw(st.floats(0, 1)), len(text), len(text) + len(piece), number))
        text += piece
    return text, tokens


@given(tagged_texts(), st.floats(0, 1))
def test_each_entity_is_what_stands_there_and_none_touches_another(
    tagged: tuple[str, list[Tagged]], threshold: float
) -> None:
    text, tokens = tagged
    end = 0
    for entity in entities_of(text, tokens, threshold=threshold):
        assert end <= entity.start < entity.end
        assert text[entity.start : entity.end] == entity.text
        assert threshold - 1e-9 <= entity.score <= 1
        end = entity.end


@given(tagged_texts(), st.floats(0, 1))
def test_every_token_inside_is_in_the_one_entity_of_its_label_and_no_other_is_in_any(
    tagged: tuple[str, list[Tagged]], threshold: float
) -> None:
    text, tokens = tagged
    entities = entities_of(text, tokens, threshold=threshold)
    for token in tokens:
        around = [entity for entity in entities if entity.start <= token.start and token.end <= entity.end]
        inside = token.label is not None and token.score >= threshold
        assert [entity.label for entity in around] == ([token.label.kind] if inside and token.label else [])


def test_an_entity_goes_on_over_blanks_and_ends_at_a_comma_at_a_beginning_or_at_another_kind() -> None:
    text = "Ann Lee, Bo Paris"
    begins, goes_on, place = Label("PER", begins=True), Label("PER", begins=False), Label("LOC", begins=False)
    tokens = [
        Tagged(begins, 1.0, 0, 3),
        Tagged(goes_on, 0.5, 4, 7),
        Tagged(goes_on, 1.0, 9, 11),
        Tagged(place, 1.0, 12, 17),
    ]
    found = entities_of(text, tokens, threshold=0.5)
    assert [(entity.text, entity.label, entity.score) for entity in found] == [
        ("Ann Lee", "PER", 0.75),
        ("Bo", "PER", 1.0),
        ("Paris", "LOC", 1.0),
    ]


def test_a_word_is_not_cut_by_a_piece_that_claims_to_begin() -> None:
    city = Label("CITY", begins=True)
    (found,) = entities_of("Springfield", [Tagged(city, 1.0, 0, 6, 0), Tagged(city, 1.0, 6, 11, 0)], threshold=0.5)
    assert found.text == "Springfield"
