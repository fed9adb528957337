"""The rules of the house that a machine can check, over every Python file, with the text rules over every file."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from tests.project.tree import python_texts, repository_texts

MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 60
EMPTY_NAMES = {"base", "common", "helpers", "manager", "util", "utils"}
THIS = Path("tests/project/test_house.py")

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
MACHINE_PATH = re.compile(r"(?<![\w.}\])-])/(?:work|root)/")
REGISTRY_HOST = re.compile(
    r"\b(pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|crates\.io|proxy\.golang\.org|docker\.io|ghcr\.io|quay\.io|gcr\.io)\b"
)
TYPE_IGNORE = re.compile(r"#\s*type:\s*ignore(?P<codes>\[[\w, -]+\])?(?P<reason>.*)")


def failures(texts: Mapping[Path, str], check: Callable[[str], Iterable[str]]) -> list[str]:
    return [f"{path}: {found}" for path, text in texts.items() if path != THIS for found in check(text)]


def long_functions(text: str) -> list[str]:
    return [
        f"{node.name} has {lines} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]


def unexplained_excepts(text: str) -> list[str]:
    """Handlers for everything, with no comment on their line or the line above."""
    lines = text.splitlines()
    return [
        f"line {node.lineno} catches everything and no comment says why"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ExceptHandler)
        and catches_everything(node)
        and "#" not in lines[node.lineno - 1]
        and not lines[node.lineno - 2].lstrip().startswith("#")
    ]


def catches_everything(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or ast.unparse(handler.type) in ("Exception", "BaseException")


def taken_from_typing(name: str) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        return [f"uses typing.{name}: {ast.unparse(node)}" for node in ast.walk(ast.parse(text)) if names(node)]

    def names(node: ast.AST) -> bool:
        match node:
            case ast.ImportFrom(module="typing" | "typing_extensions", names=aliases):
                return any(alias.name == name for alias in aliases)
            case ast.Attribute(value=ast.Name(id="typing" | "t"), attr=attribute):
                return attribute == name
            case _:
                return False

    return check


def unreasoned_ignores(text: str) -> list[str]:
    """`# type: ignore[code]` must say why behind it, or in a comment above it."""
    found = []
    lines = ["", *text.splitlines()]
    for above, line in pairwise(lines):
        match = TYPE_IGNORE.search(line)
        if match and not (match["codes"] and (match["reason"].strip() or above.lstrip().startswith("#"))):
            found.append(f"a type: ignore without code or reason: {line.strip()}")
    return found


def matches(pattern: re.Pattern[str]) -> Callable[[str], list[str]]:
    return lambda text: [match[0] for match in pattern.finditer(text)]


def test_modules_are_short() -> None:
    lengths = {str(path): len(text.splitlines()) for path, text in python_texts("src").items()}
    assert {path: lines for path, lines in lengths.items() if lines > MAX_MODULE_LINES} == {}


def test_functions_are_short() -> None:
    assert failures(python_texts(), long_functions) == []


def test_modules_are_named_for_what_they_hold() -> None:
    assert [str(path) for path in python_texts() if EMPTY_NAMES & {path.stem, *path.parts}] == []


def test_nothing_is_marked_unfinished() -> None:
    assert failures(repository_texts(), matches(UNFINISHED)) == []


def test_catching_everything_is_explained_where_it_happens() -> None:
    assert failures(python_texts(), unexplained_excepts) == []


def test_any_stays_in_the_wire() -> None:
    elsewhere = {path: text for path, text in python_texts().items() if "wire" not in path.parts}
    assert failures(elsewhere, taken_from_typing("Any")) == []


def test_nothing_is_cast() -> None:
    assert failures(python_texts(), taken_from_typing("cast")) == []


def test_ignored_type_errors_carry_their_code_and_reason() -> None:
    assert failures(python_texts(), unreasoned_ignores) == []


def test_no_file_names_a_place_on_one_machine() -> None:
    assert failures(repository_texts(), matches(MACHINE_PATH)) == []


def test_no_file_names_a_registry_host() -> None:
    assert failures(repository_texts(), matches(REGISTRY_HOST)) == []


def test_the_checks_see_what_they_look_for() -> None:
    assert unexplained_excepts("try:\n    f()\nexcept Exception:\n    pass")
    assert not unexplained_excepts("try:\n    f()\nexcept Exception:  # told to the caller below\n    pass")
    assert taken_from_typing("Any")("from typing import Any, NewType")
    assert taken_from_typing("cast")("import typing\nx = typing.cast(int, y)")
    assert not taken_from_typing("cast")("view = memoryview(b'').cast('B')")
    assert unreasoned_ignores("x = 1  # type: ignore")
    assert unreasoned_ignores("x = 1  # type: ignore[attr-defined]")
    assert not unreasoned_ignores("x = 1  # type: ignore[attr-defined]  # the stub lacks it")
    assert long_functions("def f() -> None:\n" + "    pass\n" * MAX_FUNCTION_LINES)
    assert matches(MACHINE_PATH)('"/root/x"')
    assert matches(REGISTRY_HOST)("https://pypi.org/simple")
