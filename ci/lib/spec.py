"""What in spec/generated is printed from the code, and by which function: `ci/spec` writes it, a project test compares.

To add a table, write its function beside the rule that it prints, and name it here. Services never read spec/.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from ci.lib import tables
from ci.lib.environment import ROOT

FOLDER = ROOT / "spec" / "generated"

Generated = Mapping[str, Callable[[], str]]

GENERATED: Generated = {"errors.yaml": tables.errors, "env.md": tables.environment}


def stray(folder: Path, generated: Generated) -> list[str]:
    """The files in `folder` that no function prints."""
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return sorted(present - set(generated))


def outdated(folder: Path, generated: Generated) -> list[str]:
    """The files whose text is not what the code prints now, or that are missing."""
    return sorted(name for name, text in generated.items() if read(folder / name) != text())


def read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def write(folder: Path, generated: Generated) -> None:
    for name in stray(folder, generated):
        (folder / name).unlink()
        print(f"removed {name}")
    for name in outdated(folder, generated):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(generated[name](), encoding="utf-8")
        print(f"wrote {name}")


if __name__ == "__main__":
    write(FOLDER, GENERATED)
