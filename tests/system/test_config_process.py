"""The config service as a real process: killed, starved of disk, stopped in the middle, fenced, and spoken to badly."""

import fcntl
import json
import resource
import signal
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from ci.lib.bench_config_kill import one_round, told_by
from ci.lib.bench_config_models import model_id, model_text
from ci.lib.bench_config_service import Answer, Service, lay_out, running_config
from sie.cli.ports import LOOPBACK
from tests.system.driving import until

MODELS = "/v1/configs/models"
FILE_LIMIT = 16 * 1024
TOO_MUCH_FOR_IT = 2 * FILE_LIMIT
MIB = 1024 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_out(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for all that must change nothing; `admin` is its token."""
    folder = tmp_path_factory.mktemp("config")
    lay_out(folder)
    with running_config(folder, {"SIE_ADMIN_TOKEN": "admin"}) as started:
        assert post(started, model_text(0), BEARER).status == 201
        yield started


BEARER = {"Authorization": "Bearer admin"}
_NOTHING: Mapping[str, str] = {}


def post(service: Service, text: str, headers: Mapping[str, str] = _NOTHING) -> Answer:
    return service.ask("POST", MODELS, text.encode(), headers)


def code(answer: Answer) -> tuple[int, object]:
    """The status with the code, or with the words where there is no code."""
    detail = json.loads(answer.body)["detail"]
    return answer.status, detail["error"] if isinstance(detail, dict) else detail


def on_disk(service: Service) -> dict[str, bytes]:
    paths = (path for path in service.store.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(service.store)): path.read_bytes() for path in paths}


def large_text(number: int, size: int) -> str:
    return model_text(number) + f"weights_path: {'w' * size}\n"


@contextmanager
def writing(service: Service, text: str) -> Iterator[Future[Answer]]:
    """A write that has come as far as the store during the block, and goes on after it."""
    with ThreadPoolExecutor(1) as pool, (service.store / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asked = pool.submit(post, service, text)
        until(lambda: waits_for(service.pid, service.store / ".lock"))
        yield asked
        fcntl.flock(lock, fcntl.LOCK_UN)


def waits_for(pid: int, path: Path) -> bool:
    """Does the process have the file open?"""
    return any(link.exists() and link.resolve() == path.resolve() for link in Path(f"/proc/{pid}/fd").iterdir())


def test_every_201_outlives_a_kill_among_writers() -> None:
    for _ in range(3):
        survived = one_round(20)
        assert survived.acknowledged
        assert (survived.lost, survived.epochs_short, survived.done_twice) == (0, 0, 0)


def test_a_disk_that_takes_no_more_refuses_the_write_and_nothing_changes(folder: Path) -> None:
    with running_config(folder) as service:
        assert post(service, model_text(0)).status == 201
        files, told = on_disk(service), told_by(service)
        unlimited = resource.prlimit(service.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (FILE_LIMIT, unlimited[1]))
        assert code(post(service, large_text(1, TOO_MUCH_FOR_IT))) == (503, "store_unavailable")
        assert (on_disk(service), told_by(service)) == (files, told)
        assert post(service, model_text(2)).status == 201
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, unlimited)
        assert post(service, large_text(1, TOO_MUCH_FOR_IT)).status == 201
        assert told_by(service) == (3, [model_id(0), model_id(1), model_id(2)])


def test_sigterm_answers_the_write_that_is_under_way(folder: Path) -> None:
    with running_config(folder) as service:
        assert post(service, model_text(0)).status == 201
        with writing(service, model_text(1)) as asked:
            service.ask_to_stop()
        assert asked.result().status == 201
        assert service.wait() == 0
    with running_config(folder) as service:
        assert told_by(service) == (2, [model_id(0), model_id(1)])


def test_a_write_whose_process_is_killed_before_the_commit_leaves_nothing(folder: Path) -> None:
    with running_config(folder) as service:
        assert post(service, model_text(0)).status == 201
        files = on_disk(service)
        with writing(service, model_text(1)) as asked:
            service.kill()
        assert isinstance(asked.exception(), OSError)
        assert on_disk(service) == files


def test_the_second_writer_of_one_store_is_fenced_then_sees_the_first_and_writes(folder: Path) -> None:
    with running_config(folder) as first, running_config(folder, log="second.log") as second:
        assert post(first, model_text(0)).status == 201
        assert code(post(second, model_text(1))) == (503, "epoch_fenced")
        assert post(second, model_text(1)).status == 201
        assert told_by(second) == (2, [model_id(0), model_id(1)])
        assert code(post(first, model_text(2))) == (503, "epoch_fenced")


def test_two_writers_at_once_never_both_get_one_epoch(folder: Path) -> None:
    statuses: dict[str, int] = {}
    with (
        running_config(folder) as first,
        running_config(folder, log="second.log") as second,
        ThreadPoolExecutor() as pool,
    ):
        for number in range(0, 40, 2):
            pair = zip((first, second), (number, number + 1), strict=True)
            asked = {model_id(n): pool.submit(post, service, model_text(n)) for service, n in pair}
            for model, future in asked.items():
                answer = future.result()
                assert answer.status == 201 or code(answer) == (503, "epoch_fenced")
                statuses[model] = answer.status
    written = sorted(model for model, status in statuses.items() if status == 201)
    assert len(written) >= 20
    with running_config(folder) as service:
        assert told_by(service) == (len(written), written)


@pytest.mark.parametrize(
    ("method", "target", "status", "said"),
    [
        ("PUT", f"{MODELS}/..%2F..%2Fetc", 400, "invalid_model_id"),
        ("PUT", f"{MODELS}/../../etc", 400, "invalid_model_id"),
        ("PUT", f"{MODELS}/acme%2F..%2F..%2Fx", 400, "invalid_model_id"),
        ("PUT", f"{MODELS}/acme%5Cx", 400, "invalid_model_id"),
        ("PUT", f"{MODELS}/acme/x%00", 400, "invalid_model_id"),
        ("PUT", f"{MODELS}/acme/%FF", 400, "invalid_model_id"),
        ("PUT", f"{MODELS}/%2Fetc%2Fpasswd", 404, "Not Found"),
        ("PUT", f"{MODELS}/acme/a__b", 400, "invalid_model_id"),
        ("PUT", f"{MODELS}/acme/m/status", 400, "invalid_model_id"),
        ("DELETE", f"{MODELS}/acme/m%2Fstatus", 400, "invalid_model_id"),
        ("DELETE", f"{MODELS}/..%2Fhead", 400, "invalid_model_id"),
        ("GET", f"{MODELS}/..%2Fepoch", 400, "invalid_model_id"),
        ("GET", "/v1/configs/bundles/..%2Falpha.yaml", 404, "Not Found"),
        ("GET", "/v1/configs/bundles/..", 404, "bundle_not_found"),
        ("GET", "/v1/../etc/passwd", 404, "Not Found"),
    ],
)
def test_a_path_leads_nowhere(service: Service, method: str, target: str, status: int, said: str) -> None:
    files = on_disk(service)
    body = b"profiles: {default: {adapter_path: 'acme.enc:C'}}" if method == "PUT" else None
    assert code(service.ask(method, target, body, BEARER)) == (status, said)
    assert on_disk(service) == files


def test_a_status_of_a_model_is_no_endpoint_here(service: Service) -> None:
    asked = service.ask("GET", f"{MODELS}/{model_id(0)}/status", None, BEARER)
    assert code(asked) == (404, "model_not_found")


@pytest.mark.parametrize(
    ("method", "target", "allowed"),
    [
        ("PATCH", MODELS, {"GET", "HEAD", "POST"}),
        ("POST", f"{MODELS}/{model_id(0)}", {"GET", "HEAD", "PUT", "DELETE"}),
        ("POST", "/v1/configs/bundles", {"GET", "HEAD"}),
        ("PUT", "/v1/configs/bundles/alpha", {"GET", "HEAD"}),
        ("DELETE", "/v1/configs/bundles/alpha", {"GET", "HEAD"}),
        ("POST", "/v1/configs/epoch", {"GET", "HEAD"}),
        ("DELETE", "/v1/configs/export", {"GET", "HEAD"}),
        ("GET", "/v1/configs/resolve", {"POST"}),
        ("BREW", "/healthz", {"GET", "HEAD"}),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(service: Service, method: str, target: str, allowed: set[str]) -> None:
    files = on_disk(service)
    answer = service.ask(method, target, b"x", BEARER)
    assert (answer.status, json.loads(answer.body)) == (405, {"detail": "Method Not Allowed"})
    assert set(answer.headers["allow"].split(", ")) == allowed
    assert on_disk(service) == files


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("Bearer admin", 200),
        ("bearer   admin", 200),
        ("admin", 200),
        ("Basic admin", 403),
        ("Bearer wrong", 403),
        ("Bearer", 401),
        ("Bearer ", 401),
        ("", 401),
        (None, 401),
        ("Bearer \xe4dmin", 403),
    ],
)
def test_a_token_comes_with_or_without_its_scheme(service: Service, sent: str | None, status: int) -> None:
    headers = {} if sent is None else {"Authorization": sent}
    assert service.ask("GET", "/v1/configs/epoch", None, headers).status == status
    assert post(service, model_text(0), headers).status == status


def test_an_empty_token_is_set_and_lets_nobody_in(folder: Path) -> None:
    with running_config(folder, {"SIE_ADMIN_TOKEN": ""}) as service:
        for headers in ({}, {"Authorization": ""}, {"Authorization": "Bearer "}):
            assert code(post(service, model_text(0), headers)) == (401, "Missing Authorization header")
        assert code(post(service, model_text(0), BEARER)) == (403, "Admin token required for config mutations")
        assert on_disk(service) == {}


def test_a_body_over_the_limit_is_refused_and_the_connection_is_not_wedged(service: Service) -> None:
    files = on_disk(service)
    with service.caller() as caller:
        for _ in range(2):
            assert code(caller.ask("POST", MODELS, b"#" * 10 * MIB, BEARER)) == (413, "payload_too_large")
            assert caller.ask("POST", MODELS, b"#" * 10 * MIB).status == 401
        assert caller.ask("GET", "/healthz").status == 200
    assert on_disk(service) == files


def test_a_body_that_only_claims_to_be_over_the_limit_is_refused_unread(service: Service) -> None:
    head = f"POST {MODELS} HTTP/1.1\r\nHost: x\r\nAuthorization: admin\r\nContent-Length: {10 * MIB}\r\n\r\n"
    with socket.create_connection((LOOPBACK, service.port), timeout=30) as link:
        link.sendall(head.encode())
        assert link.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_body_in_chunks_over_the_limit_is_refused(service: Service) -> None:
    chunk = f"{MIB:x}\r\n".encode() + b"#" * MIB + b"\r\n"
    head = f"POST {MODELS} HTTP/1.1\r\nHost: x\r\nAuthorization: admin\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((LOOPBACK, service.port), timeout=30) as link:
        link.sendall(head.encode() + chunk + chunk)
        assert link.recv(4096).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("target", ["/healthz", MODELS, "/v1/configs/export", f"{MODELS}/{model_id(0)}"])
def test_head_is_get_without_a_body(service: Service, target: str) -> None:
    with service.caller() as caller:
        got, headed = caller.ask("GET", target, None, BEARER), caller.ask("HEAD", target, None, BEARER)
        assert (headed.status, headed.body) == (got.status, b"")
        assert headed.headers["content-type"] == got.headers["content-type"]
        assert caller.ask("GET", "/healthz").status == 200


def test_bytes_that_are_no_http_end_their_connection_alone(service: Service) -> None:
    with socket.create_connection((LOOPBACK, service.port), timeout=30) as link:
        link.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 nonsense\r\n\r\n")
        assert link.recv(4096).startswith((b"HTTP/1.1 400 ", b""))
    assert service.ask("GET", "/healthz").status == 200
    assert service.process.poll() is None


def test_a_client_that_goes_away_in_mid_body_writes_nothing(service: Service) -> None:
    files = on_disk(service)
    with socket.create_connection((LOOPBACK, service.port), timeout=30) as link:
        head = f"POST {MODELS} HTTP/1.1\r\nHost: x\r\nAuthorization: admin\r\nContent-Length: 5000\r\n\r\n"
        link.sendall(head.encode() + model_text(7).encode())
    assert service.ask("GET", f"{MODELS}/{model_id(7)}", None, BEARER).status == 404
    assert on_disk(service) == files


def test_two_signals_end_it_at_once(folder: Path) -> None:
    with running_config(folder) as service:
        with writing(service, model_text(1)):
            service.ask_to_stop()
            until(lambda: not listens(service))
            service.ask_to_stop()
            assert service.wait() == 128 + signal.SIGTERM
        assert on_disk(service) == {}


def listens(service: Service) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, service.port)) == 0
