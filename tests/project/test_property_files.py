"""Every pure module that decides something has properties: a mirrored file with at least one `@given` in it."""

import ast
from pathlib import Path

from tests.project.tree import ROOT, core_modules

Function = ast.FunctionDef | ast.AsyncFunctionDef


def decides(module: ast.Module) -> bool:
    """Whether some function or method has a body; the empty ones of Protocols have none."""
    return any(isinstance(node, Function) and not is_declaration(node) for node in ast.walk(module))


def is_declaration(function: Function) -> bool:
    return all(isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) for line in function.body)


def has_property(path: Path) -> bool:
    return path.exists() and any(
        is_given(decorator)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, Function)
        for decorator in node.decorator_list
    )


def is_given(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Call(func=ast.Name(id="given") | ast.Attribute(attr="given")):
            return True
        case _:
            return False


def test_each_pure_module_with_a_function_has_a_property() -> None:
    expected = [
        Path("property_tests") / path.parent / f"test_{path.name}"
        for path, module in core_modules().items()
        if decides(module)
    ]
    assert [str(path) for path in expected if not has_property(ROOT / path)] == []


def test_declarations_of_a_protocol_need_no_property() -> None:
    assert not decides(ast.parse("class Reader(Protocol):\n    def read(self) -> bytes: ..."))
    assert decides(ast.parse("class Reader:\n    def read(self) -> bytes:\n        return b''"))
