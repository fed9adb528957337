"""The command line of `sie`: mistakes are told before anything is started."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sie import __version__
from sie.cli.__main__ import group
from sie.cli.folders import Folders, holding
from sie.cli.ports import PortTaken, check_free, free_ports


def sie(*words: str, **environ: str) -> Result:
    return CliRunner().invoke(group(0.0), words, env=environ)


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_version_prints_ours() -> None:
    assert sie("version").output == f"sie {__version__}\n"


def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    with taken_port() as port:
        result = sie("up", "--port", str(port), "--state-dir", str(tmp_path), "--cache-dir", str(tmp_path))
    assert result.exit_code == 1
    assert f"port {port} on 127.0.0.1 cannot be listened on: Address already in use" in result.output
    assert not list(tmp_path.rglob("*.log"))


def test_a_state_folder_in_use_is_refused(tmp_path: Path) -> None:
    with holding(Folders(tmp_path, tmp_path)):
        result = sie("up", "--port", "0", "--state-dir", str(tmp_path), "--cache-dir", str(tmp_path))
    assert result.exit_code == 1
    assert "another `sie up`" in result.output


@pytest.mark.parametrize("words", [("--port", "many"), ("--nonsense",), ("--config", "missing.yaml")])
def test_a_mistaken_flag_is_a_usage_error(words: tuple[str, ...]) -> None:
    assert sie("up", *words).exit_code == 2


def test_settings_come_from_flags_then_the_environment_then_the_default() -> None:
    printed = sie("up", "--print-config", "--port", "1", SIE_GATEWAY_PORT="2", SIE_GATEWAY_HOST="::1").output
    assert "SIE_GATEWAY_PORT=1  # flag" in printed
    assert "SIE_GATEWAY_HOST=::1  # environment" in printed
    assert "SIE_PRELOAD=sentence-transformers/all-MiniLM-L6-v2  # default" in printed


def test_preload_may_be_repeated_or_switched_off() -> None:
    assert "SIE_PRELOAD=a,b  # flag" in sie("up", "--print-config", "--preload", "a", "--preload", "b").output
    assert "SIE_PRELOAD=  # flag" in sie("up", "--print-config", "--no-preload", SIE_PRELOAD="a").output


def test_free_ports_differ_and_can_be_listened_on() -> None:
    ports = free_ports(3)
    assert len(set(ports)) == 3
    for port in ports:
        check_free("127.0.0.1", port)


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    with pytest.raises(PortTaken, match=r"port 80 on 192.0.2.1 cannot be listened on"):
        check_free("192.0.2.1", 80)
