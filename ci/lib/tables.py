"""The tables of spec/generated, printed from the code that they describe: error codes and environment variables."""

import attrs
import yaml

from sie.cli.dlq_settings import DlqSettings
from sie.cli.settings import UpSettings
from sie.config.settings import ConfigSettings
from sie.domain.errors import ERRORS
from sie.gateway.settings import GatewaySettings
from sie.runtime.kinds import shown
from sie.runtime.settings import Field, fields
from sie.worker.settings import WorkerSettings

PROGRAMS: dict[str, type[attrs.AttrsInstance]] = {
    "sie-gateway": GatewaySettings,
    "sie-config": ConfigSettings,
    "sie-worker": WorkerSettings,
    "sie up": UpSettings,
    "sie dlq": DlqSettings,
}
HEAD = "Printed from the code by `ci/spec`; not edited by hand."


def errors() -> str:
    """Every stable code, in the order of the code."""
    rows = {
        code.value: {
            "status": rule.status,
            "envelope": rule.envelope,
            "retry_after_s": rule.retry_after_s,
            "meaning": rule.meaning,
        }
        for code, rule in ERRORS.items()
    }
    return f"# {HEAD}\n" + yaml.safe_dump(rows, sort_keys=False, width=1000)


def environment() -> str:
    """A section a program; each variable with its flags, its default and what it is for."""
    return f"# Settings\n\n{HEAD}\n" + "".join(_section(name, cls) for name, cls in PROGRAMS.items())


def _section(name: str, cls: type[attrs.AttrsInstance]) -> str:
    head = f"\n## {name}\n\n| variable | flags | takes | default | what for |\n|---|---|---|---|---|\n"
    return head + "".join(map(_row, fields(cls)))


def _row(field: Field) -> str:
    flags = " ".join(f"`{flag}`" for flag in field.setting.flags)
    default = f"`{shown(field.default)}`" if shown(field.default) else ""
    return f"| `{field.setting.env}` | {flags} | {field.kind.name} | {default} | {field.setting.help} |\n"
