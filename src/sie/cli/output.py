"""What `sie up` says when it is ready: for people a URL and a command to paste, for scripts one JSON object."""

import json
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress

import attrs
import click

from sie.cli.plan import Plan


@attrs.frozen
class Output:
    """How to talk: as JSON for a script, with the lines for people on stderr; with the processes' logs among them."""

    as_json: bool
    verbose: bool

    def write(self, line: str) -> None:
        """For people."""
        self._echo(line, err=self.as_json)

    def write_result(self, line: str) -> None:
        """For the script that asked for JSON."""
        self._echo(line, err=False)

    @staticmethod
    def _echo(line: str, *, err: bool) -> None:
        """When those who read have closed the pipe, the system goes on without them."""
        with suppress(BrokenPipeError):
            click.echo(line, err=err)


def ready_lines(plan: Plan, seconds: float) -> list[str]:
    return [
        f"ready in {seconds:.1f} s: {plan.gateway_url}  (logs: {plan.logs})",
        "try it:",
        f"  {example(plan)}",
        "Ctrl-C stops everything.",
    ]


def example(plan: Plan) -> str:
    """A command that works as it stands."""
    if not plan.models:
        return shlex.join(["curl", "-s", f"{plan.gateway_url}/v1/models"])
    body = json.dumps({"items": [{"text": "Where do I find the lost property office?"}]})
    address = f"{plan.gateway_url}/v1/encode/{plan.models[0]}"
    return shlex.join(["curl", "-s", address, "-H", "Content-Type: application/json", "-d", body])


def ready_json(plan: Plan, seconds: float, pids: Mapping[str, int]) -> str:
    """`pids` are those of the processes; `pid` is that of `sie up`, which a script signals to stop them all."""
    document = {
        "ready": True,
        "gateway": plan.gateway_url,
        "config": plan.config_url,
        "nats": plan.nats_url,
        "pid": os.getpid(),
        "pids": dict(pids),
        "models": list(plan.models),
        "seconds": round(seconds, 3),
        "logs": str(plan.logs),
    }
    return json.dumps(document)
