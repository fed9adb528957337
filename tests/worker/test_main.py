"""The worker's command line: names that fit, settings refused before anything starts, and a parent without arrays."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from sie.domain.ids import worker_id
from sie.worker.__main__ import backend_command, main, own_name
from sie.worker.settings import WorkerSettings, plan_worker
from tests.worker.doubles import LANE, WORKER


def test_the_settings_by_default_name_the_default_lane() -> None:
    plan = plan_worker(WorkerSettings(worker_id=WORKER))
    assert (plan.worker, plan.lane, plan.stream.name) == (WORKER, LANE, "WORK_POOL_default")
    assert plan.cache_dir.endswith("/.cache/sie")
    assert not plan.cache_dir.startswith("~")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--pool", "no pool"], "pool 'no pool' must match"),
        (["--bundle", "a b"], "bundle 'a b' must match"),
        (["--machine-profile", ""], "machine profile '' must match"),
        (["--worker-id", "a/b"], "worker id 'a/b' must match"),
        (["--port", "-1"], "SIE_WORKER_PORT must be 0 to 65535 or none, not '-1'"),
        (["--port", "65536"], "SIE_WORKER_PORT must be 0 to 65535 or none, not '65536'"),
        (["--device", "tpu"], "SIE_DEVICE must be cpu, cpu:N, cuda, cuda:N or cuda:N,cuda:M, not 'tpu'"),
        (
            ["--gateway-url", "gateway:8080"],
            "SIE_GATEWAY_URL must be http://host:port or https://host, not 'gateway:8080'",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_starts(flags: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["serve", *flags])
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(("text", "port"), [("8080", 8080), ("0", 0), ("none", None), ("None", None)])
def test_the_port_of_the_status_is_a_number_or_none(text: str, port: int | None) -> None:
    assert plan_worker(WorkerSettings(worker_id=WORKER, port=text)).port == port


@pytest.mark.parametrize(
    ("device", "devices", "sharing"),
    [
        ("cpu", ("cpu",), 1),
        ("cpu:3", ("cpu",) * 3, 3),
        ("cuda", ("cuda",), 1),
        ("cuda:1", ("cuda:1",), 1),
        ("cuda:0,cuda:2", ("cuda:0", "cuda:2"), 1),
    ],
)
def test_each_device_has_a_backend(device: str, devices: tuple[str, ...], sharing: int) -> None:
    plan = plan_worker(WorkerSettings(worker_id=WORKER, device=device))
    assert (plan.devices, plan.sharing) == (devices, sharing)


@pytest.mark.parametrize(
    "device", ["", "cpu:0", "cpu,cpu", "cpu,cuda:0", "cuda,cuda:1", "cuda:1,cuda:1", "cuda:a", "x"]
)
def test_devices_that_cannot_be_are_refused(device: str) -> None:
    with pytest.raises(ValueError, match="SIE_DEVICE must be"):
        plan_worker(WorkerSettings(worker_id=WORKER, device=device))


def test_an_age_below_the_last_delivery_is_refused_before_anything_starts() -> None:
    result = CliRunner().invoke(main, ["serve"], env={"SIE_STREAM_MAX_AGE_S": "60"})
    assert result.exit_code == 2
    assert "SIE_STREAM_MAX_AGE_S is 60" in result.output


def test_a_worker_without_a_name_makes_one_that_fits() -> None:
    assert worker_id(own_name()) == own_name()


def test_the_backend_is_started_by_this_python_wherever_the_package_is() -> None:
    settings = WorkerSettings(device="cuda:1", log_level="debug", log_json=True)
    command = backend_command(settings, "cuda:1", "/cache")
    assert command[:4] == (sys.executable, "-P", "-m", "sie.backend")
    assert " ".join(command[4:]) == "--device cuda:1 --cache-dir /cache --log-level debug --json-logs"


@pytest.mark.system
def test_the_parent_loads_no_arrays_no_model_code_and_no_server_before_it_is_to_serve() -> None:
    imports = "import sys, sie.worker.__main__, sie.worker.app, sie.bus.nats"
    heavy = "{'numpy', 'jax', 'flax', 'tokenizers', 'quart', 'hypercorn'}"
    program = f"{imports}; print(*({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.split() == []


@pytest.mark.system
def test_a_backend_without_its_socket_says_how_it_is_meant_to_be_started() -> None:
    alone = subprocess.run([sys.executable, "-m", "sie.backend"], check=False, capture_output=True, text=True)
    assert alone.returncode == 2
    assert "--socket" in alone.stderr
