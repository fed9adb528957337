"""`sie up` over scripted services, as a program: `scripted_up.py FOLDER [json] [verbose]`; it runs in FOLDER."""

import os
import sys
import time
from pathlib import Path

from sie.cli.output import Output
from sie.cli.plan import Plan, Ports, Service
from sie.cli.ports import free_ports
from sie.cli.up import explained, run_plan

PLAYER = Path(__file__).with_name("scripted_service.py")
GRACE_S = 2.0


def plan(folder: Path) -> Plan:
    ports = Ports(*free_ports(3))
    roles = {"nats": ports.nats, "config": ports.config, "worker": 0, "gateway": ports.gateway}
    services = tuple(
        Service(
            role,
            (sys.executable, str(PLAYER), role, str(port)),
            dict(os.environ),
            GRACE_S,
            "SIE_WORKER_ID" if role == "worker" else None,
        )
        for role, port in roles.items()
    )
    return Plan(services, "127.0.0.1", ports, ("m",), folder)


def main(folder: str, *words: str) -> None:
    os.chdir(folder)
    output = Output(as_json="json" in words, verbose="verbose" in words)
    failure = run_plan(plan(Path(folder)), output, time.monotonic())
    if failure:
        sys.exit("\n".join(explained(failure)))


if __name__ == "__main__":
    main(*sys.argv[1:])
