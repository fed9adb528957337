"""The list of variables is the union of all settings classes and of the few that are read elsewhere."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from sie.runtime.settings import fields
from sie.runtime.variables import VARIABLES

SOURCE = Path(__file__).parents[2] / "src" / "sie"
READ_ELSEWHERE = {
    "SIE_CONFIG_FILE": "runtime/command.py",
    "SIE_OFFLINE": "adapters/weights.py",
}
"""Variables that are no service's setting, with the module that reads each."""
LITERAL = re.compile(r"""["'](SIE_[A-Z0-9_]*[A-Z0-9])["']""")


def settings_classes() -> Iterator[type[attrs.AttrsInstance]]:
    for path in sorted(SOURCE.glob("*/settings.py")):
        module = importlib.import_module(f"sie.{path.parent.name}.settings")
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__ and _has_settings(value):
                yield value


def _has_settings(cls: type) -> bool:
    return attrs.has(cls) and any("setting" in attribute.metadata for attribute in attrs.fields(cls))


def in_classes() -> set[str]:
    return {field.setting.env for cls in settings_classes() for field in fields(cls)}


def test_the_list_is_the_union_of_all_settings_and_of_what_is_read_elsewhere() -> None:
    assert in_classes() | set(READ_ELSEWHERE) == VARIABLES


def test_what_is_read_elsewhere_is_no_setting_too() -> None:
    assert not in_classes() & set(READ_ELSEWHERE)


@pytest.mark.parametrize(("name", "path"), READ_ELSEWHERE.items())
def test_what_is_read_elsewhere_is_read_there(name: str, path: str) -> None:
    assert f'"{name}"' in (SOURCE / path).read_text(encoding="utf-8")


def test_no_source_file_names_a_variable_that_is_not_listed() -> None:
    named = {
        name: str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for name in LITERAL.findall(path.read_text(encoding="utf-8"))
    }
    assert {name: path for name, path in named.items() if name not in VARIABLES} == {}


@pytest.mark.parametrize("cls", list(settings_classes()), ids=lambda cls: str(cls.__name__))
def test_a_settings_class_lists_no_variable_and_no_flag_twice_and_explains_each(cls: type[attrs.AttrsInstance]) -> None:
    listed = [field.setting for field in fields(cls)]
    flags = [flag for setting in listed for flag in setting.flags]
    assert len({setting.env for setting in listed}) == len(listed)
    assert len(set(flags)) == len(flags)
    assert all(setting.help for setting in listed)
