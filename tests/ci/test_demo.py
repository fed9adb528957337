"""The pure parts of `ci/demo`: ranking, and what is shown while it runs."""

import numpy as np
import pytest

from ci.lib.corpus import Passage
from ci.lib.demo import answer, progress
from ci.lib.demo_questions import Question, best

PASSAGES = [Passage(name, f"{name}: text") for name in ("m.a", "m.b", "m.c")]
VECTORS = np.array([[1, 0], [3, 3], [0, 0.5]], np.float32)


def test_the_nearest_passage_comes_first_whatever_its_length() -> None:
    hits = best(np.array([2, 2], np.float32), VECTORS, PASSAGES)
    assert hits[0].passage.name == "m.b"
    assert hits[0].similarity == pytest.approx(1)


def test_an_answer_is_right_only_if_the_expected_one_is_first(capsys: pytest.CaptureFixture[str]) -> None:
    toward_c = np.array([0.1, 1], np.float32)
    assert answer(Question("Which?", "m.c"), toward_c, VECTORS, PASSAGES)
    assert not answer(Question("Which?", "m.b"), toward_c, VECTORS, PASSAGES)
    assert "m.c: text" in capsys.readouterr().out


def test_without_a_terminal_progress_is_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show = progress(1000)
    for done in range(16, 1000, 16):
        show(done)
    show(1000)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "embedded 1000/1000"
