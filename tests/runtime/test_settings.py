"""Settings from files: secrets by `NAME_FILE`, a YAML file of variables, and what is wrong with either."""

from pathlib import Path
from typing import Literal

import attrs
import pytest

from sie.runtime.settings import Resolved, SettingError, Sources, fields, read_settings_file, resolve, setting


@attrs.frozen
class Example:
    host: str = setting("0.0.0.0", env="SIE_GATEWAY_HOST", help="An address")
    token: str | None = setting(None, env="SIE_ADMIN_TOKEN", secret=True, help="A secret")
    timeout_s: float = setting(120.0, env="SIE_GATEWAY_REQUEST_TIMEOUT", help="Seconds")
    replicas: int = setting(1, env="SIE_STREAM_REPLICAS", help="Copies")
    storage: Literal["memory", "file"] = setting("memory", env="SIE_STREAM_STORAGE", help="Where")
    preload: tuple[str, ...] = setting((), env="SIE_PRELOAD", flags=("--preload",), help="Models")
    as_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="Log JSON")


def from_environment(**environ: str) -> Resolved[Example]:
    return resolve(Example, Sources({}, environ, {}))


def from_file(**file: object) -> Resolved[Example]:
    return resolve(Example, Sources({}, {}, file, "a.yaml"))


def test_without_any_source_each_setting_is_its_default() -> None:
    resolved = from_environment()
    assert resolved.settings == Example()
    assert set(resolved.origins.values()) == {"default"}
    assert resolved.unknown == ()


def test_every_type_is_read_from_the_environment() -> None:
    resolved = from_environment(
        SIE_GATEWAY_HOST="localhost",
        SIE_ADMIN_TOKEN="s3cret",
        SIE_GATEWAY_REQUEST_TIMEOUT="2.5",
        SIE_STREAM_REPLICAS="3",
        SIE_STREAM_STORAGE="file",
        SIE_PRELOAD="a/b, c/d,",
        SIE_LOG_JSON="Yes",
    )
    assert resolved.settings == Example("localhost", "s3cret", 2.5, 3, "file", ("a/b", "c/d"), True)


def test_every_type_is_read_from_a_file_as_yaml_has_it() -> None:
    resolved = from_file(
        SIE_GATEWAY_REQUEST_TIMEOUT=30, SIE_STREAM_REPLICAS=3, SIE_PRELOAD=["a/b", "c/d"], SIE_LOG_JSON=True
    )
    assert resolved.settings == Example(timeout_s=30.0, replicas=3, preload=("a/b", "c/d"), as_json=True)
    assert resolved.origins["replicas"] == "a.yaml"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("SIE_GATEWAY_REQUEST_TIMEOUT", "soon", "a number, not 'soon'"),
        ("SIE_GATEWAY_REQUEST_TIMEOUT", "nan", "a number, not 'nan'"),
        ("SIE_STREAM_REPLICAS", "1.5", "an integer, not '1.5'"),
        ("SIE_STREAM_REPLICAS", True, "an integer, not True"),
        ("SIE_STREAM_STORAGE", "disk", "memory or file, not 'disk'"),
        ("SIE_LOG_JSON", "maybe", "true or false, not 'maybe'"),
        ("SIE_GATEWAY_HOST", None, "a string, not None"),
        ("SIE_GATEWAY_HOST", {"a": 1}, "a string, not {'a': 1}"),
        ("SIE_PRELOAD", [["a"]], r"a comma-separated list, not [['a']]"),
    ],
)
def test_a_bad_value_names_variable_origin_and_value(name: str, value: object, wanted: str) -> None:
    with pytest.raises(SettingError) as told:
        resolve(Example, Sources({}, {}, {name: value}, "a.yaml"))
    assert str(told.value) == f"{name} (from a.yaml) must be {wanted}"


def test_a_bad_secret_is_not_shown_in_the_error() -> None:
    with pytest.raises(SettingError) as told:
        from_file(SIE_ADMIN_TOKEN={"very": "secret"})
    assert str(told.value) == "SIE_ADMIN_TOKEN (from a.yaml) must be a string, not ********"


def test_a_setting_that_may_be_unset_is_unset_by_nothing() -> None:
    assert from_environment(SIE_ADMIN_TOKEN="").settings.token is None
    assert from_file(SIE_ADMIN_TOKEN=None).settings.token is None


def test_a_secret_is_read_from_the_file_that_its_variable_names(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("s3cret\n")
    resolved = from_environment(SIE_ADMIN_TOKEN_FILE=str(path))
    assert resolved.settings.token == "s3cret"
    assert resolved.origins["token"] == "environment SIE_ADMIN_TOKEN_FILE"
    assert resolved.unknown == ()


def test_a_value_given_outright_beats_the_file_that_is_named_beside_it(tmp_path: Path) -> None:
    assert from_environment(SIE_ADMIN_TOKEN="given", SIE_ADMIN_TOKEN_FILE=str(tmp_path)).settings.token == "given"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_secret_file_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingError, match=r"^SIE_ADMIN_TOKEN_FILE: "):
        from_environment(SIE_ADMIN_TOKEN_FILE=str(path))


def test_a_settings_file_is_a_map_of_variables(tmp_path: Path) -> None:
    path = tmp_path / "sie.yaml"
    path.write_text("SIE_STREAM_REPLICAS: 3\nSIE_PRELOAD: [a/b]\n")
    assert read_settings_file(str(path)) == {"SIE_STREAM_REPLICAS": 3, "SIE_PRELOAD": ["a/b"]}


@pytest.mark.parametrize(
    "content", [b"", b"- a", b"1: 2", b"a: [", b"\xff", b"a: 2020-13-45", b"!!python/object:x.y z"]
)
def test_a_bad_settings_file_is_told_with_its_path(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sie.yaml"
    path.write_bytes(content)
    with pytest.raises(SettingError, match=f"^settings file {path}: "):
        read_settings_file(str(path))


def test_a_settings_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="No such file"):
        read_settings_file(str(tmp_path / "none.yaml"))


def test_what_is_printed_is_one_line_a_setting() -> None:
    resolved = from_environment(SIE_PRELOAD="a/b,c/d", SIE_ADMIN_TOKEN="s3cret", SIE_LOG_JSON="1")
    assert list(resolved.lines()) == [
        "SIE_GATEWAY_HOST=0.0.0.0  # default",
        "SIE_ADMIN_TOKEN=********  # environment",
        "SIE_GATEWAY_REQUEST_TIMEOUT=120.0  # default",
        "SIE_STREAM_REPLICAS=1  # default",
        "SIE_STREAM_STORAGE=memory  # default",
        "SIE_PRELOAD=a/b,c/d  # environment",
        "SIE_LOG_JSON=true  # environment",
    ]


def test_a_password_inside_a_url_is_masked_when_printed() -> None:
    resolved = from_environment(SIE_GATEWAY_HOST="nats://me:s3cret@broker:4222,nats://other:4222")
    assert next(resolved.lines()) == "SIE_GATEWAY_HOST=nats://********@broker:4222,nats://other:4222  # environment"


def test_fields_tell_what_the_class_says_of_each_setting() -> None:
    told = {field.name: (field.setting.env, field.kind.name, field.default) for field in fields(Example)}
    assert told["replicas"] == ("SIE_STREAM_REPLICAS", "an integer", 1)
    assert told["token"] == ("SIE_ADMIN_TOKEN", "a string", None)


@attrs.frozen
class Bounded:
    wait_s: float = setting(30.0, env="SIE_GATEWAY_CONFIG_POLL_S", help="Seconds", at_least=1)


def test_a_number_below_its_bound_is_told_with_the_bound_and_the_value() -> None:
    with pytest.raises(SettingError) as told:
        resolve(Bounded, Sources({}, {"SIE_GATEWAY_CONFIG_POLL_S": "0.5"}, {}))
    assert str(told.value) == "SIE_GATEWAY_CONFIG_POLL_S (from environment) must be at least 1, not 0.5"


@attrs.frozen
class Empty:
    token: str | None = setting(None, env="SIE_ADMIN_TOKEN", secret=True, empty_counts=True, help="A secret")


def test_an_empty_secret_can_count_as_set() -> None:
    assert resolve(Empty, Sources({}, {"SIE_ADMIN_TOKEN": ""}, {})).settings.token == ""
    assert resolve(Empty, Sources({}, {}, {})).settings.token is None
