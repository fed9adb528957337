"""What people and scripts read: lines without repeats, a command that can be pasted, logs with their last words."""

import io
import json
import shlex
from pathlib import Path

from rich.console import Console

from sie.cli.live import LiveScreen
from sie.cli.logs import Tail, last_lines, rotate
from sie.cli.output import example, ready_json, ready_lines
from sie.cli.plan import Plan, Ports
from sie.cli.probe import body_of
from sie.cli.screen import PlainScreen


def plan(*models: str) -> Plan:
    return Plan((), "127.0.0.1", Ports(1, 2, 8080), models, Path("/logs"))


def test_a_state_is_written_once_until_it_changes() -> None:
    lines: list[str] = []
    screen = PlainScreen(lines.append)
    for text in ("loading", "loading", "compiling 1/8", "compiling 1/8", "loading"):
        screen.state("worker", text)
    screen.note("by the way")
    assert lines == ["worker: loading", "worker: compiling 1/8", "worker: loading", "by the way"]


def test_a_terminal_shows_a_line_per_process_and_plain_lines_once_it_is_closed() -> None:
    drawn, lines = io.StringIO(), list[str]()
    console = Console(file=drawn, force_terminal=True, width=80, _environ={"TERM": "xterm"})
    screen = LiveScreen(["nats", "worker"], lines.append, console)
    screen.state("worker", "compiling 3/8")
    screen.tick()
    screen.note("[nats] was ended")
    screen.state("worker", "ready")
    screen.close()
    screen.state("worker", "stopping")
    assert "compiling 3/8" in drawn.getvalue()
    assert "[nats] was ended" in drawn.getvalue()
    assert lines == ["worker: stopping"]


def test_the_command_to_paste_is_one_shell_command_with_a_json_body() -> None:
    words = shlex.split(example(plan("org/model")))
    assert words[:3] == ["curl", "-s", "http://127.0.0.1:8080/v1/encode/org/model"]
    assert json.loads(words[-1])["items"][0]["text"]


def test_without_a_model_the_command_to_paste_lists_models() -> None:
    assert example(plan()) == "curl -s http://127.0.0.1:8080/v1/models"


def test_the_ready_line_has_the_url_and_the_seconds() -> None:
    assert ready_lines(plan("m"), 5.26)[0].startswith("ready in 5.3 s: http://127.0.0.1:8080")


def test_the_json_for_scripts_is_one_line() -> None:
    text = ready_json(plan("m"), 5.0, {"nats": 7})
    assert "\n" not in text
    told = json.loads(text)
    assert (told["ready"], told["pids"], told["seconds"]) == (True, {"nats": 7}, 5.0)


def test_the_log_of_the_run_before_is_kept_once(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    rotate(log)
    for text in ("first", "second", ""):
        log.write_text(text, encoding="utf-8")
        rotate(log)
    assert (tmp_path / "a.log.1").read_text(encoding="utf-8") == "second"


def test_the_last_lines_of_a_log_are_found_in_a_long_one_and_in_none(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    assert last_lines(log) == []
    log.write_text("".join(f"line {n}\n" for n in range(100_000)), encoding="utf-8")
    assert last_lines(log, 2) == ["line 99998", "line 99999"]


def test_a_followed_log_gives_whole_lines_with_a_name(tmp_path: Path) -> None:
    log, lines = tmp_path / "a.log", list[str]()
    tail = Tail("gateway", log)
    tail.copy(lines.append)
    with log.open("a", encoding="utf-8") as file:
        for text in ("one\ntw", "o\nthree"):
            file.write(text)
            file.flush()
            tail.copy(lines.append)
    assert lines == ["gateway | one", "gateway | two"]


def test_only_the_body_of_a_200_is_taken() -> None:
    assert body_of(b"HTTP/1.1 200 \r\nserver: x\r\n\r\nok") == b"ok"
    assert body_of(b"HTTP/1.1 200 OK\r\n\r\n") == b""
    assert body_of(b"HTTP/1.1 503 no\r\n\r\nok") is None
    assert body_of(b"HTTP/1.1 200 OK\r\nserver") is None
    assert body_of(b"") is None
