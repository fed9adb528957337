"""Real text that is on any machine: the docstrings of Python's own library, cut into passages of a bounded length.

Sources are parsed and never imported. The order is fixed by the list of modules and their source, so a given Python
always gives the same passages.
"""

import ast
import re
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import attrs

MAX_TOKENS = 64
SPECIAL_TOKENS = 2
PASSAGES = 1000
# Well documented modules that Python 3.11 and its successors have; the first ones are asked about in the demo.
MODULES = (
    *("shutil", "statistics", "textwrap", "tempfile", "difflib", "fractions", "heapq", "bisect", "random", "calendar"),
    *("argparse", "configparser", "contextlib", "copy", "csv", "dataclasses", "enum", "functools", "collections"),
    *("glob", "fnmatch", "fileinput", "filecmp", "pathlib", "posixpath", "os", "gzip", "bz2", "lzma", "zipfile"),
    *("tarfile", "json", "pickle", "shelve", "plistlib", "base64", "quopri", "secrets", "hashlib", "hmac", "uuid"),
    *("string", "re", "shlex", "pprint", "gettext", "locale", "codecs", "html", "xml", "email", "mailbox"),
    *("http", "urllib", "smtplib", "poplib", "imaplib", "ftplib", "xmlrpc", "socket", "socketserver", "ssl"),
    *("ipaddress", "webbrowser", "wsgiref", "threading", "queue", "sched", "subprocess", "signal", "selectors"),
    *("asyncio", "concurrent", "multiprocessing", "logging", "warnings", "traceback", "inspect", "ast", "dis"),
    *("tokenize", "timeit", "trace", "tracemalloc", "pdb", "cmd", "doctest", "unittest", "typing", "types"),
    *("weakref", "graphlib", "numbers", "wave", "mimetypes", "platform", "zoneinfo", "sqlite3", "venv", "zipapp"),
)
_WORTH_READING = 40  # characters; shorter docstrings only repeat their name
_BREAKS = tuple(re.compile(pattern) for pattern in (r"\n\s*\n", r"(?<=[.!?:;])\s+", r"\s+"))
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# Without special tokens. The length of words joined by spaces is the sum of their lengths, as for every BERT.
CountTokens = Callable[[str], int]


class CorpusTooSmall(Exception):
    """This Python has too few docstrings, as one without its library's sources does."""


@attrs.frozen
class Passage:
    """`name` is the qualified name of what the text documents; the text begins with it."""

    name: str
    text: str


def read_corpus(count: CountTokens, library: Path | None = None) -> Sequence[Passage]:
    """The first PASSAGES, of at most MAX_TOKENS each; `library` is this Python's by default. Raises CorpusTooSmall."""
    library = library or Path(sysconfig.get_path("stdlib"))
    found = list(islice(passages_of(library, count), PASSAGES))
    if len(found) < PASSAGES:
        raise CorpusTooSmall(f"{library} holds {len(found)} passages of documentation; {PASSAGES} are needed")
    return found


def passages_of(library: Path, count: CountTokens) -> Iterator[Passage]:
    for module in MODULES:
        for path in sources(library, module):
            name = ".".join(part for part in path.relative_to(library).with_suffix("").parts if part != "__init__")
            for documented, docstring in docstrings(ast.parse(path.read_bytes()), name):
                yield from cut(documented, docstring, count)


def sources(library: Path, module: str) -> Sequence[Path]:
    """The module's files in a fixed order, without its tests and what it keeps to itself."""
    single = library / f"{module}.py"
    files = [single] if single.exists() else sorted((library / module).rglob("*.py"))
    return [path for path in files if not any(is_private(part) for part in path.relative_to(library).parts)]


def is_private(part: str) -> bool:
    return part in ("test", "tests", "__main__.py") or (part.startswith("_") and part != "__init__.py")


def docstrings(tree: ast.Module, module: str) -> Iterator[tuple[str, str]]:
    """The public qualified name and the docstring of everything that has one, from top to bottom."""
    waiting: list[tuple[str, _Documented]] = [(module, tree)]
    while waiting:
        name, node = waiting.pop()
        docstring = ast.get_docstring(node)
        if docstring and len(docstring) >= _WORTH_READING:
            yield name, docstring
        inner = [
            (f"{name}.{child.name}", child)
            for child in node.body
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and child.name[0] != "_"
        ]
        waiting += reversed(inner)


def cut(name: str, docstring: str, count: CountTokens) -> Iterator[Passage]:
    """As few passages as the length allows, broken between paragraphs, or sentences, or else words."""
    heading = f"{name}:"
    room = MAX_TOKENS - SPECIAL_TOKENS - count(heading)
    held: list[str] = []
    used = 0
    for piece, length in pieces(docstring, room, count):
        if held and used + length > room:
            yield Passage(name, " ".join([heading, *held]))
            held, used = [], 0
        held.append(piece)
        used += length
    if held:
        yield Passage(name, " ".join([heading, *held]))


def pieces(docstring: str, room: int, count: CountTokens) -> Iterator[tuple[str, int]]:
    """The docstring's paragraphs, each on one line with its length; what is too long by itself in smaller parts."""
    waiting = [(docstring, 0)]
    while waiting:
        text, level = waiting.pop()
        line = " ".join(text.split())
        length = count(line)
        if 0 < length <= room:
            yield line, length
        elif line and level < len(_BREAKS):
            waiting += [(part, level + 1) for part in reversed(_BREAKS[level].split(text))]
