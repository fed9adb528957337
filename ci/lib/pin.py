"""Remakes ci/constraints.txt: the resolver's answer for everything that the programs under ci/ install.

`ci/pin` keeps the present pins and adds what pyproject.toml newly asks for; `ci/pin --upgrade` lets every pin move.
The resolver's report is the source, not a freeze: a freeze copies local links and build suffixes of one machine.
Standard library and pip only, so that it also works when the present pins cannot be installed.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ci.lib.environment import CONSTRAINTS, EDITABLE_BUILD, PYTHON, ROOT, pip_environment, read_project, strings, table

EXTRAS = "dev,compat-kube,compat-storage"
HEADER = "# Every version that the programs under ci/ install: the resolver's answer, one `name==version` a line.\n"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lines_of(report: str, project: str) -> list[str]:
    """`name==version` for each distribution in pip's report but the project itself, by name."""
    found = (entry["metadata"] for entry in json.loads(report)["install"])
    pins = {canonical(metadata["name"]): metadata["version"].partition("+")[0] for metadata in found}
    return [f"{name}=={pins[name]}" for name in sorted(pins) if name != canonical(project)]


def resolve(*, upgrade: bool) -> str:
    """Pip's report on an install into nothing."""
    project = read_project()
    wanted = [f".[{EXTRAS}]", *strings(table(project, "build-system")["requires"]), EDITABLE_BUILD]
    keep = [] if upgrade else ["--constraint", str(CONSTRAINTS)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        asked = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(report), *keep, *wanted]
        if subprocess.run([PYTHON, "-m", "pip", *asked], cwd=ROOT, env=pip_environment(), check=False).returncode:
            sys.exit(
                "pip found no answer; its words are above. Where the present pins are in the way: ci/pin --upgrade."
            )
        return report.read_text(encoding="utf-8")


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="ci/pin", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--upgrade", action="store_true", help="let every pin move")
    options = parser.parse_args(argv)
    lines = lines_of(resolve(upgrade=options.upgrade), str(table(read_project(), "project")["name"]))
    CONSTRAINTS.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{CONSTRAINTS.relative_to(ROOT)}: {len(lines)} versions")


if __name__ == "__main__":
    main(sys.argv[1:])
