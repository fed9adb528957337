"""Does every replica equal the authority once nothing is wrong, without a restart? Is what was acknowledged kept?"""

import trio

from sie.domain.registry import RegistrySnapshot
from sie.testing.cluster.catalogue import SIDE, SMALL, TOLD, base_bundles, model_of_text
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.nodes import GatewayNode
from sie.testing.cluster.served import ConnectionLost
from sie.testing.cluster.shown import read_bundles, read_scopes, read_shown
from sie.testing.cluster.writes import Write
from sie.testing.simulation.writers import Writers
from sie.wire.documents import parse_bundle

UP_LIMIT_S = 60.0
"""A process that was being stopped is up again by then; a store that could not be read is read after 30 s at most."""
CONVERGE_S = 42.0
"""One poll interval and the second after a poll; before it, one call that was slow and times out after ten."""
TELL_S = 3.0
"""A delta takes no time; one that does not fit asks for a poll a second after the last one."""
WRITE_TRIES = 3
"""A writer that finds itself behind its store refuses once, and reads it again."""


async def converged(cluster: Cluster) -> None:
    """From the moment at which all processes run: nobody is started again after that."""
    cluster.start_crashed()
    if not await cluster.wait_until(lambda: all(node.process.runs for node in cluster.nodes), UP_LIMIT_S):
        cluster.ledger.violate("a process does not come up")
        return
    await _wait_for_registry(cluster)
    await trio.sleep(CONVERGE_S)
    await all_equal(cluster)
    wanted = cluster.config.exported.lane_hash
    for worker in cluster.workers:
        if worker.link.lane_hash != wanted:
            held = f"{worker.process.name} holds {worker.link.lane_hash:.8}"
            cluster.ledger.violate(f"{held} of its lane, the authority {wanted:.8}")
    cluster.changed.end()


async def _wait_for_registry(cluster: Cluster) -> None:
    with trio.move_on_after(UP_LIMIT_S):
        while not await cluster.read_authority():  # noqa: ASYNC110 - the clock jumps
            await trio.sleep(1.0)
        return
    cluster.ledger.violate("the config service has no registry although its store is well")


async def all_equal(cluster: Cluster) -> None:
    """Models, profiles, epoch, bundles and hashes."""
    if not await cluster.read_authority():
        cluster.ledger.violate("the config service cannot be read when all is well")
        return
    for gateway in cluster.gateways:
        try:
            await _is_equal(cluster, gateway)
            await cluster.look_at(gateway)
        except ConnectionLost as error:
            cluster.ledger.violate(f"{gateway.process.name} does not answer: {error}")


async def _is_equal(cluster: Cluster, gateway: GatewayNode) -> None:
    exported, name = cluster.config.exported, gateway.process.name
    shown, violate = await read_shown(gateway.server), cluster.ledger.violate
    if shown.profiles != exported.profiles:
        violate(f"{name} holds {_plain(shown.profiles)}, the authority {_plain(exported.profiles)}")
    if shown.epoch != exported.epoch:
        violate(f"{name} stands at epoch {shown.epoch}, the authority at {exported.epoch}")
    bundles = [parse_bundle(text, stem=stem) for stem, text in base_bundles(cluster.config.edition).items()]
    if await read_bundles(gateway.server) != {str(bundle.name): bundle.priority for bundle in bundles}:
        violate(f"{name} holds other bundles than the authority")
    wanted = RegistrySnapshot.of(bundles, map(model_of_text, exported.documents.values()))
    for model in (SMALL, SIDE):
        for (bundle, pool), config_hash in (await read_scopes(gateway.server, model)).items():
            told = {(str(b), str(p)): h for b, scopes in wanted.pool_hashes.items() for p, h in scopes.items()}
            if told.get((bundle, pool)) != config_hash:
                violate(f"{name} hashes {bundle} in {pool} to {config_hash:.8}, not as the authority does")


def _plain(profiles: object) -> str:
    """In an order that comes again."""
    assert isinstance(profiles, dict)
    return str({model: sorted(names) for model, names in sorted(profiles.items())})


async def is_told(cluster: Cluster, writers: Writers) -> None:
    """A write succeeds when all is well, and every gateway hears of it at once."""
    write, ending, mark = Write("post", TOLD), "", ""
    for _ in range(WRITE_TRIES):
        ending, mark = await writers.write(write)
        if ending == "done":
            break
    else:
        cluster.ledger.violate(f"a good write is {ending} when all is well")
        return
    await trio.sleep(TELL_S)
    for gateway in cluster.gateways:
        shown = await read_shown(gateway.server)
        if mark not in shown.profiles.get(TOLD, ()):
            cluster.ledger.violate(f"{gateway.process.name} has not heard of the write of {mark}")


async def is_kept(cluster: Cluster) -> None:
    """The config service ends without a word, and comes back with all of its store."""
    await cluster.config.process.kill()
    cluster.start(cluster.config)
    await trio.sleep(1.0)
    if not await cluster.read_authority():
        cluster.ledger.violate("the config service does not come back")
        return
    exported, history = cluster.config.exported, cluster.rules.history
    if (exported.epoch, dict(exported.overlay)) != (history.epoch, history.overlay):
        kept = f"epoch {history.epoch} of {sorted(history.overlay)}"
        cluster.ledger.violate(f"it comes back with epoch {exported.epoch} of {sorted(exported.overlay)}, not {kept}")
