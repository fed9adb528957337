"""Which files does the repository hold? What .gitignore leaves, found without git: an unpacked copy is checked too."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sie"
PYTHON_FOLDERS = ("src", "tests", "property_tests", "ci", "spec")


@cache
def ignored_patterns() -> tuple[str, ...]:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return (".git", *(line.rstrip("/") for line in lines))


def files_under(folder: Path) -> Iterator[Path]:
    """Every file below `folder` that is not ignored, in a fixed order."""
    for path in sorted(folder.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in ignored_patterns()):
            continue
        if path.is_dir():
            yield from files_under(path)
        else:
            yield path


@cache
def repository_texts() -> dict[Path, str]:
    """Path from the root, and text, of every file that is text."""
    found = {}
    for path in files_under(ROOT):
        try:
            found[path.relative_to(ROOT)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def python_texts(*folders: str) -> dict[Path, str]:
    """The Python files below these folders of the root, or below all that hold Python."""
    wanted = tuple(Path(folder) for folder in folders or PYTHON_FOLDERS)
    return {
        path: text
        for path, text in repository_texts().items()
        if path.suffix == ".py" and any(path.is_relative_to(folder) for folder in wanted)
    }


def core_modules() -> dict[Path, ast.Module]:
    """The modules that must stay pure: domain, wire and every core, by their path below src/sie."""
    below = {path.relative_to("src/sie"): text for path, text in python_texts("src/sie").items()}
    return {
        path: ast.parse(text)
        for path, text in below.items()
        if path.parts[0] in ("domain", "wire") or "core" in path.parts[1:-1]
    }
