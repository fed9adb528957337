"""Does the config service keep what it acknowledged when it is killed among 500 writers (`ci/bench config`)?

Every writer adds a model of its own, every fifth with an Idempotency-Key. At a random one of the first answers the
process gets a kill -9; then it is started again on its store, and those who had no answer ask once more.
"""

import http
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import httpx2
import orjson
import trio

from ci.lib.bench_config_models import model_id, model_text
from ci.lib.bench_config_service import ANSWER_WITHIN_S, Service, lay_out, running_config
from ci.lib.bench_figure import Figure
from sie.cli.ports import LOOPBACK

WRITERS = 500
ROUNDS = 5
QUICK_ROUNDS = 2
EVERY_KEYED = 5
AGAIN_S = 0.1
"""After a connection that broke while the service was alive, as clients do."""
PATIENT = 32
"""Connections of those who ask once more."""


@attrs.frozen
class Survived:
    """What one round came to. `acknowledged` are the models whose writes were answered before the kill; `epoch` and
    `models` are what the service told after it; the last ones, when every writer had been answered. `dropped`
    connections broke before the kill.
    """

    acknowledged: frozenset[str]
    dropped: int
    epoch: int
    models: Sequence[str]
    last_epoch: int
    last_models: Sequence[str]

    @property
    def lost(self) -> int:
        return len(self.acknowledged - set(self.models))

    @property
    def epochs_short(self) -> int:
        return max(0, len(self.acknowledged) - self.epoch)

    @property
    def done_twice(self) -> int:
        """A write counts one epoch, so a second one of the same model shows in the difference."""
        told_twice = len(self.last_models) - len(set(self.last_models))
        return told_twice + abs(self.epoch - len(self.models)) + abs(self.last_epoch - len(self.last_models))


def kill_figures(quick: bool) -> Iterator[Figure]:
    rounds = [one_round(WRITERS) for _ in range(QUICK_ROUNDS if quick else ROUNDS)]
    details = {
        "rounds": len(rounds),
        "acknowledged": [len(taken.acknowledged) for taken in rounds],
        "dropped_before_the_kill": [taken.dropped for taken in rounds],
    }
    yield Figure("config", "acknowledged_and_lost", sum(taken.lost for taken in rounds), 0, "writes", details)
    yield Figure("config", "epoch_behind", sum(taken.epochs_short for taken in rounds), 0, "epochs", details)
    yield Figure("config", "done_twice", sum(taken.done_twice for taken in rounds), 0, "writes", details)


def one_round(writers: int) -> Survived:
    with tempfile.TemporaryDirectory(prefix="sie-bench-") as name:
        folder = Path(name)
        lay_out(folder)
        with running_config(folder) as service:
            acknowledged, dropped = trio.run(written_until_killed, service, range(writers))
        with running_config(folder) as service:
            epoch, models = told_by(service)
            trio.run(written_again, service, [n for n in range(writers) if model_id(n) not in acknowledged])
            last_epoch, last_models = told_by(service)
    return Survived(acknowledged, dropped, epoch, models, last_epoch, last_models)


async def written_until_killed(service: Service, numbers: Sequence[int]) -> tuple[frozenset[str], int]:
    """The models that were acknowledged, and how many connections broke before the kill."""
    acknowledged: set[str] = set()
    dropped: list[int] = []
    kill_at = random.randrange(1, len(numbers))

    async def write(client: httpx2.AsyncClient, number: int) -> None:
        while len(acknowledged) < kill_at:
            try:
                reply = await post(client, number)
            except httpx2.TransportError:
                if len(acknowledged) < kill_at:
                    dropped.append(number)
                await trio.sleep(AGAIN_S)
                continue
            assert reply.status_code in (http.HTTPStatus.OK, http.HTTPStatus.CREATED), reply.text
            acknowledged.add(model_id(number))
            if len(acknowledged) == kill_at:
                service.process.kill()
            return

    async with open_client(service, len(numbers)) as client, trio.open_nursery() as nursery:
        for number in numbers:
            nursery.start_soon(write, client, number)
    service.kill()
    return frozenset(acknowledged), len(dropped)


async def written_again(service: Service, numbers: Sequence[int]) -> None:
    """Each a second time: 200 where the first had been committed without an answer."""

    async def write(client: httpx2.AsyncClient, number: int) -> None:
        reply = await post(client, number)
        assert reply.status_code in (http.HTTPStatus.OK, http.HTTPStatus.CREATED), reply.text

    async with open_client(service, PATIENT) as client, trio.open_nursery() as nursery:
        for number in numbers:
            nursery.start_soon(write, client, number)


def open_client(service: Service, connections: int) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=connections)
    address = f"http://{LOOPBACK}:{service.port}"
    return httpx2.AsyncClient(base_url=address, limits=limits, timeout=ANSWER_WITHIN_S, trust_env=False)


async def post(client: httpx2.AsyncClient, number: int) -> httpx2.Response:
    headers = {} if number % EVERY_KEYED else {"Idempotency-Key": f"write-{number}"}
    return await client.post("/v1/configs/models", content=model_text(number), headers=headers)


def told_by(service: Service) -> tuple[int, Sequence[str]]:
    """The epoch, and every model by its row of the export."""
    document = orjson.loads(service.ask("GET", "/v1/configs/export").body)
    return document["epoch"], [row["model_id"] for row in document["models"]]
