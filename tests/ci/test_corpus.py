"""The demo's text: the documentation of the Python that runs this, cut to length, always the same."""

import ast
import sys
import sysconfig
from pathlib import Path

import pytest

from ci.lib.corpus import (
    MAX_TOKENS,
    PASSAGES,
    SPECIAL_TOKENS,
    CorpusTooSmall,
    Passage,
    cut,
    docstrings,
    passages_of,
    read_corpus,
    sources,
)
from ci.lib.demo_questions import QUESTIONS


def words(text: str) -> int:
    """Stands for the model's tokenizer, which counts more of them."""
    return len(text.split())


@pytest.fixture(scope="module")
def corpus() -> list[Passage]:
    return list(read_corpus(lambda text: 2 * words(text)))


def test_there_are_a_thousand_different_passages_that_are_short_enough(corpus: list[Passage]) -> None:
    assert len(corpus) == PASSAGES >= 1000
    assert len({passage.text for passage in corpus}) > 0.98 * PASSAGES
    assert all(2 * words(passage.text) + SPECIAL_TOKENS <= MAX_TOKENS <= 100 for passage in corpus)


def test_every_passage_begins_with_the_name_of_what_it_documents(corpus: list[Passage]) -> None:
    assert all(passage.text.startswith(f"{passage.name}: ") for passage in corpus)


def test_the_answers_to_the_questions_are_in_it(corpus: list[Passage]) -> None:
    assert {question.expected for question in QUESTIONS} <= {passage.name for passage in corpus}


def test_the_same_python_gives_the_same_corpus(corpus: list[Passage]) -> None:
    assert list(read_corpus(lambda text: 2 * words(text))) == corpus


def test_a_library_without_sources_is_too_small(tmp_path: Path) -> None:
    with pytest.raises(CorpusTooSmall, match="holds 0 passages"):
        read_corpus(words, tmp_path)


def test_a_short_docstring_stays_whole() -> None:
    assert list(cut("m.f", "First line.\n\n    Second\n    paragraph.\n", words)) == [
        Passage("m.f", "m.f: First line. Second paragraph.")
    ]


def test_a_long_docstring_breaks_between_its_paragraphs() -> None:
    long = "word " * (MAX_TOKENS - 10)
    assert [len(passage.text.split()) for passage in cut("m.f", f"{long}\n\n{long}", words)] == [MAX_TOKENS - 9] * 2


def test_a_long_paragraph_breaks_after_sentences_and_an_endless_one_anywhere() -> None:
    sentence = "word " * (MAX_TOKENS // 2) + "end."
    assert [passage.text.endswith("end.") for passage in cut("m", f"{sentence} {sentence}", words)] == [True, True]
    endless = list(cut("m", "word " * 1000, words))
    assert sum(words(passage.text) - 1 for passage in endless) == 1000
    assert max(words(passage.text) for passage in endless) == MAX_TOKENS - SPECIAL_TOKENS


def test_what_cannot_be_cut_is_left_out() -> None:
    assert list(cut("m", "monster", lambda text: 1000 if "monster" in text else 1)) == []


def test_public_names_are_found_from_top_to_bottom() -> None:
    long = "Enough words to be worth reading for someone."
    source = f'''
"""{long}"""
class A:
    """{long}"""
    def f(self):
        """{long}"""
    def _private(self):
        """{long}"""
async def g():
    """{long}"""
def h():
    """Short."""
'''
    assert [name for name, _ in docstrings(ast.parse(source), "m")] == ["m", "m.A", "m.A.f", "m.g"]


def test_a_package_gives_its_public_modules_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("p/__init__.py", "p/b.py", "p/a.py", "p/_hidden.py", "p/test/t.py", "p/__main__.py", "q.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in sources(tmp_path, "p")] == ["__init__.py", "a.py", "b.py"]
    assert [path.name for path in sources(tmp_path, "q")] == ["q.py"]
    assert sources(tmp_path, "missing") == []


def test_nothing_of_the_library_is_imported() -> None:
    before = set(sys.modules)
    next(iter(passages_of(Path(sysconfig.get_path("stdlib")), words)))
    assert set(sys.modules) == before
