"""Lines of a watch do not depend on how the network cut them, and none grows without bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.kube.core.lines import MAX_LINE_BYTES, Lines, LineTooLong

texts = st.lists(st.binary(min_size=1, max_size=12).map(lambda line: line.replace(b"\n", b"x")), max_size=8)


@given(texts, st.binary(max_size=5).map(lambda rest: rest.replace(b"\n", b"x")), st.data())
def test_every_cutting_gives_the_same_lines(lines: list[bytes], rest: bytes, data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines) + rest
    reader, found = Lines(), []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        found += reader.receive(whole[:size])
        whole = whole[size:]
    assert found == [line for line in lines if line.strip()]


@given(st.integers(1, 4))
def test_a_line_without_an_end_is_refused(pieces: int) -> None:
    reader = Lines()
    for _ in range(pieces):
        assert reader.receive(b"x" * (MAX_LINE_BYTES // pieces)) == []
    with pytest.raises(LineTooLong):
        reader.receive(b"xxxx")


def test_a_long_line_comes_whole_and_the_count_begins_again() -> None:
    reader, line = Lines(), b"x" * (MAX_LINE_BYTES - 1)
    for _ in range(3):
        assert reader.receive(line) == []
        assert reader.receive(b"\n") == [line]
