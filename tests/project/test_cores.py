"""What the import contracts cannot show: a core takes time, luck and text as arguments, and it never waits."""

import ast

import pytest

from tests.project.tree import core_modules

FORBIDDEN_CALLS = {"breakpoint", "input", "open", "print"}
FORBIDDEN_METHODS = {
    "now": "the clock is an argument",
    "today": "the clock is an argument",
    "utcnow": "the clock is an argument",
    "uuid1": "ids are arguments",
    "uuid4": "ids are arguments",
    "urandom": "luck is an argument",
    "token_bytes": "luck is an argument",
    "token_hex": "luck is an argument",
    "read_bytes": "effects read files",
    "read_text": "effects read files",
    "write_bytes": "effects write files",
    "write_text": "effects write files",
}
WAITING = (ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await)


def impurities(module: ast.Module) -> list[str]:
    return [
        f"line {node.lineno}: {why}"
        for node in ast.walk(module)
        if isinstance(node, ast.stmt | ast.expr)
        for why in reasons(node)
    ]


def reasons(node: ast.stmt | ast.expr) -> list[str]:
    if isinstance(node, WAITING):
        return ["a core never waits"]
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
            return [f"{name}() is an effect"]
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in FORBIDDEN_METHODS:
            return [f"{name}(): {FORBIDDEN_METHODS[name]}"]
        case _:
            return []


def test_cores_take_time_luck_and_text_as_arguments_and_never_wait() -> None:
    found = {str(path): impurities(module) for path, module in core_modules().items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "async def f() -> None: ...",
        "text = Path('x').read_text()",
        "at = datetime.now(UTC)",
        "at = datetime.datetime.utcnow()",
        "key = uuid4()",
        "key = uuid.uuid4()",
        "print('x')",
        "file = open('x')",
    ],
)
def test_each_kind_of_impurity_is_seen(source: str) -> None:
    assert len(impurities(ast.parse(source))) == 1


def test_there_are_cores_to_look_at() -> None:
    assert core_modules()
