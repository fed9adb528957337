"""What YAML has beyond JSON, and what could surprise, is refused with its place and line, by example."""

import time

import pytest

from sie.wire.converters import WireError
from sie.wire.json_value import MAX_NESTING
from sie.wire.yaml_reading import load_yaml

MIB = 2**20
DEEP = f"is nested more than {MAX_NESTING} deep"
DATE = "a date is no JSON value: in quotes it is a string (line 1)"


def refusal_of(text: str) -> tuple[tuple[str | int, ...], str]:
    with pytest.raises(WireError) as told:
        load_yaml(text)
    assert len(told.value.problems) == 1
    return told.value.problems[0].loc, told.value.problems[0].message


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: &x 1\nb: *x", ("a",), "YAML anchors are not taken (line 1)"),
        ("b: *x", ("b",), "YAML aliases are not taken (line 1)"),
        ("a: &x [1]", ("a",), "YAML anchors are not taken (line 1)"),
        ("a: 1\nb:\n  c: 1\n  c: 2", ("b", "c"), "stands twice in its map (line 4)"),
        ('a: 1\n"a": 1', ("a",), "stands twice in its map (line 2)"),
        ("a: [1, 2020-01-01]", ("a", 1), DATE),
        ("a: 2020-13-45", ("a",), DATE),
        ("a: 2001-12-14t21:59:43.10-05:00", ("a",), DATE),
        ("a: {1: x}", ("a",), "the key 1 must be a string (line 1)"),
        ("a: {yes: x}", ("a",), "the key True must be a string (line 1)"),
        ("a: {[1]: x}", ("a",), "a key must be a string, not a map or a list (line 1)"),
        ("<<: {a: 1}", (), "the merge key << is not taken (line 1)"),
        ("a: =", ("a",), "the value key = is not taken: in quotes it is a string (line 1)"),
        ("a: .inf", ("a",), "inf is no JSON number"),
        ("a: .NaN", ("a",), "nan is no JSON number"),
        ("a: 1.0e+999", ("a",), "inf is no JSON number"),
        ("a: 18446744073709551616", ("a",), "an integer must fit in 64 bits"),
        ("a: 0x1ffffffffffffffff", ("a",), "an integer must fit in 64 bits"),
        ("a: " + "9" * 401, ("a",), "a number has at most 400 characters, not 401 (line 1)"),
        ("a: !!set {x}", ("a",), "the tag tag:yaml.org,2002:set is not taken (line 1)"),
        ("!!python/object:os.system x", (), "the tag tag:yaml.org,2002:python/object:os.system is not taken (line 1)"),
        ("a: !!binary aGk=", ("a",), "the tag tag:yaml.org,2002:binary is not taken (line 1)"),
        ("a: !mine 1", ("a",), "the tag !mine is not taken (line 1)"),
        ("a: !!str [1]", ("a",), "the tag tag:yaml.org,2002:str is not taken (line 1)"),
        ("a: !!int x", ("a",), "'x' is no int (line 1)"),
        ("a: !!int ''", ("a",), "'' is no int (line 1)"),
        ("a: !!bool x", ("a",), "'x' is no bool (line 1)"),
        ("a: !!null x", ("a",), "'x' is no null (line 1)"),
        ("--- 1\n--- 2", (), "not a YAML document: it holds more than one"),
        ("\ud800", (), "not a YAML document: it holds lone surrogates"),
        ("a: [", (), "not a YAML document: did not find expected node content (line 2, column 1)"),
    ],
)
def test_what_could_surprise_is_refused_with_its_place(text: str, place: tuple[str | int, ...], message: str) -> None:
    assert refusal_of(text) == (place, message)


@pytest.mark.parametrize("text", ["\x00", "a: \t- b", 'a: "\\ud800"', "{", "'", "%FOO\n---\na"])
def test_what_is_no_yaml_document_is_refused_as_one(text: str) -> None:
    place, message = refusal_of(text)
    assert place == ()
    assert message.startswith("not a YAML document: ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing", None),
        ("[yes, No, TRUE, off]", [True, False, True, False]),
        ("[~, null, '', x]", [None, None, "", "x"]),
        ("[010, 0x1F, 0b11, 1_000, 1:30, -0, 18446744073709551615]", [8, 31, 3, 1000, 90, 0, 2**64 - 1]),
        ("[1e3, 1.0e+3, .5, 1:30.5]", ["1e3", 1000.0, 0.5, 90.5]),
        ("['2020-01-01', '1', \"yes\", '<<']", ["2020-01-01", "1", "yes", "<<"]),
        ("[!!str 12, !!int '12', !!float '1', !!map {}, !!seq []]", ["12", 12, 1.0, {}, []]),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y", {"a": "x\ny\n", "b": "x y"}),
        ("%YAML 1.1\n---\nü: é\n...\n", {"ü": "é"}),
    ],
)
def test_the_rest_reads_as_the_published_services_read_it(text: str, value: object) -> None:
    found = load_yaml(text)
    assert (found, repr(found)) == (value, repr(value))


@pytest.mark.parametrize(
    "text",
    ["[" * MIB, "- " * (MIB // 2), "{a: " * (MIB // 4), "? " * (MIB // 2), "[{" * (MIB // 2), "a:\n" * (MIB // 3)],
)
def test_a_document_of_a_mebibyte_that_only_nests_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    refusal_of(text)
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("text", ["1" * MIB, "1:" * (MIB // 2) + "1", "0x" + "f" * MIB, "1." + "1" * MIB])
def test_a_number_of_a_mebibyte_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    assert "a number has at most 400 characters" in refusal_of(text)[1]
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("text", ["[" * 70, "- " * 70, "{a: " * 70])
def test_a_nest_is_refused_where_it_passes_the_bound(text: str) -> None:
    place, message = refusal_of(text)
    assert (len(place), message) == (MAX_NESTING, DEEP)
