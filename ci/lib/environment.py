"""Which Python do the programs under ci/ run in? `.venv` at the root, made here from python3 and pip alone.

Standard library only: nothing is installed yet when `ci/lib/start` runs it. It installs the project in editable form
with the extras that a program asks for, pinned by ci/constraints.txt, then becomes that program. A stamp makes the next
start instant.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
CONSTRAINTS = ROOT / "ci" / "constraints.txt"
PROJECT = ROOT / "pyproject.toml"
STAMP = VENV / "installed.json"
EDITABLE_BUILD = "editables"  # what hatchling asks for, beyond its own requirement, to build an editable install

Pyproject = Mapping[str, object]


def read_project() -> Pyproject:
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))


def table(of: Pyproject, *path: str) -> Mapping[str, object]:
    """The TOML table at `path`, empty where there is none."""
    for name in path:
        inner = of.get(name, {})
        of = inner if isinstance(inner, dict) else {}
    return of


def strings(value: object) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []


def closure(extras: Iterable[str], project: Pyproject) -> frozenset[str]:
    """The extras together with those that they name by `project[extra]`."""
    declared = table(project, "project", "optional-dependencies")
    inner = re.compile(re.escape(str(table(project, "project")["name"])) + r"\[([^]]+)\]")
    found: set[str] = set()
    waiting = list(extras)
    while waiting:
        extra = waiting.pop()
        if extra not in declared:
            sys.exit(f"pyproject.toml has no extra named {extra!r}; it has {', '.join(declared)}.")
        if extra not in found:
            found.add(extra)
            waiting += [
                name.strip()
                for requirement in strings(declared[extra])
                if (match := inner.match(requirement))
                for name in match[1].split(",")
            ]
    return frozenset(found)


def fingerprint() -> str:
    """Changes with what would be installed, and with where: an editable install holds the root's absolute path."""
    digest = hashlib.sha256()
    for part in (PROJECT.read_bytes(), CONSTRAINTS.read_bytes(), os.fsencode(ROOT)):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def installed_extras(wanted_fingerprint: str) -> frozenset[str]:
    """The extras that `.venv` holds, none if it is unfinished or was made for another pyproject or other pins."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return frozenset()
    return frozenset(stamp["extras"]) if stamp.get("fingerprint") == wanted_fingerprint else frozenset()


def ensure(extras: Sequence[str]) -> None:
    """Make `.venv` hold these extras; two programs that start at once take turns."""
    wanted = closure(extras, read_project())
    with PROJECT.open(encoding="utf-8") as lock:
        take_turn(lock.fileno())
        state = fingerprint()
        present = installed_extras(state)
        if PYTHON.exists() and wanted <= present and (extras or runs()):
            return
        make_venv()
        if extras:
            install(sorted(wanted | present))
            write_stamp(state, wanted | present)


def take_turn(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting for another program that is installing into .venv", file=sys.stderr)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def runs() -> bool:
    """Whether `.venv` has a new enough Python with pip, and was made at this place: scripts hold their path."""
    script = VENV / "bin" / "pip"
    if not (PYTHON.exists() and script.exists() and os.fsencode(VENV) in script.read_bytes()):
        return False
    probe = [str(PYTHON), "-c", "import sys, pip; sys.exit(sys.version_info < (3, 11))"]
    return subprocess.run(probe, check=False, stderr=subprocess.DEVNULL).returncode == 0


def make_venv() -> None:
    if runs():
        return
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            sys.exit(
                f"{sys.executable} has no `{module}` module, so no virtual environment can be made. Install your "
                "system's package for it (often python3-venv), or put another Python 3.11 or newer first on the PATH."
            )
    print(f"making {VENV.relative_to(ROOT)}", file=sys.stderr)
    if subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=False).returncode:
        sys.exit(f"`{sys.executable} -m venv` failed with the message above.")


def install(extras: Sequence[str]) -> None:
    """Install the build tools, then the project on them. Without its stamp an interrupted install is done again."""
    STAMP.unlink(missing_ok=True)
    print(f"installing the project with [{','.join(extras)}] into .venv: some minutes", file=sys.stderr)
    pip(*strings(table(read_project(), "build-system")["requires"]), EDITABLE_BUILD)
    pip("--no-build-isolation", "--editable", f".[{','.join(extras)}]")


def write_stamp(state: str, extras: Iterable[str]) -> None:
    complete = STAMP.with_suffix(".new")
    complete.write_text(json.dumps({"fingerprint": state, "extras": sorted(extras)}), encoding="utf-8")
    complete.replace(STAMP)


def pip(*what: str) -> None:
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS), *what]
    if subprocess.run(command, cwd=ROOT, env=pip_environment(), check=False).returncode:
        sys.exit(
            "pip could not install what ci/constraints.txt pins; its own words are above. The first start needs a "
            "network, or packages in pip's cache; the next start takes up where this one stopped."
        )


def pip_environment() -> dict[str, str]:
    """The caller's environment without the settings that would make pip install elsewhere than in `.venv`."""
    elsewhere = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER"}
    kept = {name: value for name, value in os.environ.items() if name not in elsewhere}
    return kept | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def main(arguments: Sequence[str]) -> None:
    extras, module, *rest = arguments
    ensure([] if extras == "none" else extras.split(","))
    os.chdir(ROOT)
    os.environ["VIRTUAL_ENV"] = str(VENV)
    os.environ["PATH"] = os.pathsep.join([str(PYTHON.parent), os.environ.get("PATH", os.defpath)])
    os.execv(PYTHON, [str(PYTHON), "-m", module, *rest])


if __name__ == "__main__":
    main(sys.argv[1:])
