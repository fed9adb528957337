"""Packages are as the import contracts need them: import-linter is blind to a folder without an `__init__.py`."""

import ast
from pathlib import Path

from tests.project.tree import SOURCE, python_texts


def outside_imports(module: ast.Module) -> list[str]:
    """What an `__init__` imports from outside sie, TYPE_CHECKING blocks included."""
    names: list[str] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
    return [name for name in names if name.partition(".")[0] not in ("sie", "collections", "typing")]


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {folder for path in SOURCE.rglob("*.py") for folder in path.parents if folder.is_relative_to(SOURCE)}
    assert [
        str(folder.relative_to(SOURCE)) for folder in sorted(folders) if not (folder / "__init__.py").exists()
    ] == []


def test_a_package_itself_imports_nothing_from_outside() -> None:
    """The contracts name packages that may be missing as `sie.x.**`, which is all of them but the `__init__`."""
    packages = {path: text for path, text in python_texts("src/sie").items() if path.name == "__init__.py"}
    found = {str(path): outside_imports(ast.parse(text)) for path, text in packages.items()}
    assert {path: names for path, names in found.items() if names} == {}
    assert Path("src/sie/__init__.py") in packages
