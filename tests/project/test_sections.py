"""A `§` in code or prose names a section of the reference architecture that exists (spec/sections.txt lists them)."""

import re

from tests.project.tree import ROOT, repository_texts

CITATION = re.compile(r"§\s?(\d+(?:\.\d+)*)")
LISTED = "spec/sections.txt"


def sections() -> frozenset[str]:
    lines = (ROOT / LISTED).read_text(encoding="utf-8").splitlines()
    return frozenset(line.removeprefix("§") for line in lines if not line.startswith("#"))


def unknown(text: str) -> list[str]:
    return [number for number in CITATION.findall(text) if number not in sections()]


def test_every_cited_section_exists() -> None:
    found = {str(path): unknown(text) for path, text in repository_texts().items()}
    assert {path: numbers for path, numbers in found.items() if numbers} == {}


def test_a_section_that_does_not_exist_is_seen() -> None:
    sign = chr(0xA7)
    assert unknown(f"{sign}4.2, {sign}4.9 and {sign} 99") == ["4.9", "99"]


def test_the_list_is_in_order_and_holds_each_section_once() -> None:
    lines = [line for line in (ROOT / LISTED).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    keys = [tuple(int(part) for part in line.removeprefix("§").split(".")) for line in lines]
    assert keys == sorted(set(keys))
