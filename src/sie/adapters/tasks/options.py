"""Runtime options that several tasks read in the same way (wire-facts 3.6). Options of other layers pass by unread."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, get_args

from sie.adapters.api import LoadFailed, OutputDtype

C = TypeVar("C", bound=str)
OUTPUT_DTYPES: tuple[OutputDtype, ...] = get_args(OutputDtype)


def parse_output_dtype(runtime: Mapping[str, object]) -> OutputDtype:
    return choice_of(runtime, "output_dtype", OUTPUT_DTYPES)


def choice_of(runtime: Mapping[str, object], name: str, choices: Sequence[C]) -> C:
    """The first of the choices where the option is not set. Raises LoadFailed(CONFIG)."""
    value = runtime.get(name, choices[0])
    for choice in choices:
        if value == choice:
            return choice
    raise refused(f"runtime.{name} must be one of {', '.join(choices)}, not {value!r}")


def flag_of(runtime: Mapping[str, object], name: str, *, default: bool) -> bool:
    """Raises LoadFailed(CONFIG)."""
    value = runtime.get(name, default)
    if not isinstance(value, bool):
        raise refused(f"runtime.{name} must be true or false, not {value!r}")
    return value


def fraction_of(runtime: Mapping[str, object], name: str, *, default: float) -> float:
    """Raises LoadFailed(CONFIG)."""
    value = runtime.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise refused(f"runtime.{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def refused(message: str) -> LoadFailed:
    return LoadFailed(message, error_class="CONFIG", permanent=True)
