"""A value comes from the first source that has one, and names it (house: flag, environment, file, default)."""

from collections.abc import Mapping

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.runtime.settings import MASK, SettingError, Sources, resolve, setting
from sie.runtime.variables import VARIABLES

ENV = "SIE_GATEWAY_PORT"


@attrs.frozen
class Example:
    port: int = setting(8080, env=ENV, flags=("-p", "--port"), help="A number")
    token: str | None = setting(None, env="SIE_ADMIN_TOKEN", secret=True, help="A secret")


@attrs.frozen
class Nothing:
    """A service without settings."""


PORTS = st.none() | st.integers(0, 65535)
NAMES = st.sampled_from(sorted(VARIABLES)) | st.sampled_from(("SIE_TYPO", "SIE_GATEWAY_PRT", "PATH", "sie_pool"))


def given_sources(flag: int | None, environ: int | None, file: int | None) -> Sources:
    return Sources(
        flags={"port": None if flag is None else str(flag)},
        environ={} if environ is None else {ENV: str(environ)},
        file={} if file is None else {ENV: file},
        file_name="a.yaml",
    )


@given(PORTS, PORTS, PORTS)
def test_the_first_source_that_has_a_value_wins_and_is_named(
    flag: int | None, environ: int | None, file: int | None
) -> None:
    resolved = resolve(Example, given_sources(flag, environ, file))
    ranked = {"flag": flag, "environment": environ, "a.yaml": file, "default": 8080}
    origin, value = next((name, value) for name, value in ranked.items() if value is not None)
    assert (resolved.settings.port, resolved.origins["port"]) == (value, origin)
    assert f"{ENV}={value}  # {origin}" in list(resolved.lines())


@given(st.sampled_from(("flag", "environment", "a.yaml")), st.text("abc-.", min_size=1, max_size=5))
def test_a_bad_value_is_told_with_its_variable_its_origin_and_itself(origin: str, bad: str) -> None:
    sources = Sources(
        flags={"port": bad if origin == "flag" else None},
        environ={ENV: bad} if origin == "environment" else {},
        file={ENV: bad} if origin == "a.yaml" else {},
        file_name="a.yaml",
    )
    with pytest.raises(SettingError) as told:
        resolve(Example, sources)
    assert str(told.value) == f"{ENV} (from {origin}) must be an integer, not {bad!r}"


@given(st.text("abcdef", min_size=4, max_size=8), st.booleans())
def test_a_secret_is_used_and_never_shown(secret: str, by_file: bool) -> None:
    variable = {"SIE_ADMIN_TOKEN": secret}
    none: Mapping[str, str] = {}
    resolved = resolve(Example, Sources({}, none if by_file else variable, variable if by_file else none))
    assert resolved.settings.token == secret
    lines = "\n".join(resolved.lines())
    assert f"SIE_ADMIN_TOKEN={MASK}" in lines
    assert secret not in lines


@given(st.lists(NAMES, unique=True, max_size=4), st.lists(NAMES, unique=True, max_size=4))
def test_names_that_nothing_reads_are_told(environ: list[str], file: list[str]) -> None:
    """Of the environment only those with our prefix; of a settings file all of them."""
    readable = dict.fromkeys(environ, "1"), dict.fromkeys(file, "1")
    resolved = resolve(Example, Sources({}, *readable))
    ours = {name for name in environ if name.startswith("SIE_")}
    assert set(resolved.unknown) == (ours | set(file)) - VARIABLES
    assert list(resolved.unknown) == sorted(resolved.unknown)


@given(st.sampled_from(sorted(VARIABLES)))
def test_the_file_variant_of_every_variable_is_known(name: str) -> None:
    resolved = resolve(Nothing, Sources({}, {f"{name}_FILE": "x"}, {}))
    assert resolved.unknown == ()
