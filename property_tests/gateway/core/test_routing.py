"""A request goes where its model, its pool and its headers say, and only while a worker there holds our configuration.

The table stands for the rules of §2, §16.1 and §16.3; the properties for what holds in any fleet.
"""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from property_tests.gateway.core import pool_strategies
from sie.domain.bundle import Bundle
from sie.domain.errors import ErrorCode
from sie.domain.ids import (
    DEFAULT_PROFILE,
    BundleName,
    MachineProfile,
    ModelId,
    PoolName,
    ProfileName,
    RequestId,
    WorkerId,
)
from sie.domain.lane import Lane
from sie.domain.model import Model, Profile
from sie.domain.pool import Pool, PoolSpec, pool_spec
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.gateway.core.asking import Asked
from sie.gateway.core.lane_book import LaneBook
from sie.gateway.core.pool_view import PoolView
from sie.gateway.core.refusing import Refused
from sie.gateway.core.routing import Facts, Provisioning, Routed, resolve

FAST, BIG = BundleName("fast"), BundleName("big")
PROFILES = {
    DEFAULT_PROFILE: Profile("acme.m:C"),
    ProfileName("long"): Profile("acme.long:C"),
}
MODELS = [
    Model(ModelId("acme/m"), PROFILES),
    Model(ModelId("acme/aside"), {DEFAULT_PROFILE: Profile("acme.m:C")}, pool=PoolName("static")),
]
SEEDED = RegistrySnapshot.of([Bundle(FAST, ("acme.m",), 10), Bundle(BIG, ("acme.m", "acme.long"), 20)], MODELS)
EMPTY = RegistrySnapshot.empty()
REQUEST = RequestId("r-1")


def lane_of(text: str) -> Lane:
    pool, profile, bundle = text.split("/")
    return Lane(PoolName(pool), MachineProfile(profile), BundleName(bundle))


def worker(name: str, lane: str, *, config_hash: str | None = "ours", full: bool = False) -> WorkerStatus:
    place = lane_of(lane)
    held = SEEDED.scoped_hash(place.bundle, place.pool) if config_hash == "ours" else config_hash
    return WorkerStatus(WorkerId(name), place, held, ready=True, says_saturated=full)


def facts_of(workers: list[WorkerStatus], *specs: PoolSpec, registry: RegistrySnapshot = SEEDED) -> Facts:
    view = PoolView.with_protected([PoolName("static")], 0.0)
    for spec in specs:
        view.kept(Pool(spec, 0.0, 0.0))
    view.know(workers)
    full = {status.worker for status in workers if status.says_saturated}
    return Facts(registry, view, LaneBook.of(workers, full))


def ask(model: str = "acme/m", **fields: str) -> Asked:
    return Asked(
        model,
        bundle=BundleName(fields["bundle"]) if "bundle" in fields else None,
        pool=PoolName(fields["pool"]) if "pool" in fields else None,
        profile=MachineProfile(fields["profile"]) if "profile" in fields else None,
    )


@attrs.frozen
class Case:
    """`to` is the lane, with `@worker` where it goes to one; or the code of a refusal; or `cold`."""

    why: str
    asked: Asked
    to: str
    workers: tuple[str, ...] = ("a=default/l4/fast", "b=default/l4/big", "s=static/l4/fast")
    specs: tuple[PoolSpec, ...] = ()
    registry: RegistrySnapshot = SEEDED


CAPPED = pool_spec("acme", gpus={"l4": 1}, gpu_caps={"l4": 1})
OPEN = pool_spec("open", gpus={"l4": 1}, gpu_caps={})
OF_BIG = PoolSpec(PoolName("of-big"), bundle=BIG)
ASIDE = PoolSpec(PoolName("tenant"), queue_pool=PoolName("static"))
CASES = [
    Case("the best bundle by priority", ask(), "default/l4/fast"),
    Case("any case of the name", ask("ACME/M:default"), "default/l4/fast"),
    Case("a profile by its alias, in the bundle that runs it", ask("acme/m:long"), "default/l4/big"),
    Case("the bundle that was asked for", ask(bundle="big"), "default/l4/big"),
    Case("a bundle that does not run it", ask("acme/m:long", bundle="fast"), "BUNDLE_CONFLICT"),
    Case("a name that nobody has", ask("acme/none"), "MODEL_NOT_FOUND"),
    Case("a profile that the model has not", ask("acme/m:none"), "MODEL_NOT_FOUND"),
    Case("the model's own queue pool", ask("acme/aside"), "static/l4/fast"),
    Case("a static queue pool by its name", ask("acme/aside", pool="static"), "static/l4/fast"),
    Case("a tenant's pool over it", ask("acme/aside", pool="tenant"), "static/l4/fast", specs=(ASIDE,)),
    Case("a pool whose workers do not hold the model", ask("acme/aside", pool="default"), "MODEL_NOT_FOUND"),
    Case("the same the other way round", ask(pool="static"), "MODEL_NOT_FOUND"),
    Case("a pool that is not there", ask(pool="acme"), "POOL_NOT_FOUND"),
    Case("a machine profile", ask(profile="a100"), "default/a100/fast", ("a=default/l4/fast", "x=default/a100/fast")),
    Case("a machine profile that is cold", ask(profile="a100"), "cold"),
    Case(
        "a profile that the pool does not name", ask(pool="open", profile="a100"), "GPU_NOT_CONFIGURED", specs=(OPEN,)
    ),
    Case("an uncapped pool shares the lane", ask(pool="open"), "default/l4/fast", specs=(OPEN,)),
    Case("a capped pool goes to its worker", ask(pool="acme"), "default/l4/fast@a", ("a=default/l4/fast",), (CAPPED,)),
    Case("a capped pool without a worker", ask(pool="acme"), "cold", ("a=default/a100/fast",), (CAPPED,)),
    Case("a pool's bundle filter", ask(pool="of-big"), "default/l4/big", specs=(OF_BIG,)),
    Case("a bundle outside the filter", ask(pool="of-big", bundle="fast"), "BUNDLE_CONFLICT", specs=(OF_BIG,)),
    Case("nobody there", ask(), "cold", ()),
    Case("the other bundle alone", ask(), "cold", ("b=default/l4/big",)),
    Case("another configuration", ask(), "cold", ("a=default/l4/fast#0",)),
    Case("no configuration", ask(), "cold", ("a=default/l4/fast#",)),
    Case("whoever has room", ask(), "default/l40/fast", ("a=default/l4/fast!", "b=default/l40/fast")),
    Case("a full one, where all are", ask(), "default/l4/fast", ("a=default/l4/fast!",)),
    Case("a lane as its worker spells it", ask(profile="l4"), "default/L4/fast", ("a=default/L4/fast",)),
    Case("an empty registry", ask(), "MODEL_NOT_FOUND", registry=EMPTY),
    Case("an empty registry, a pinned pool", ask(pool="default", bundle="fast"), "default/l4/fast", registry=EMPTY),
    Case("the same, and the default bundle", ask(pool="default"), "cold", registry=EMPTY),
    Case(
        "the same, cold, to a lane that it names",
        ask(pool="default", profile="l4"),
        "default/l4/default",
        (),
        (),
        EMPTY,
    ),
    Case("an empty registry, a pool that is not there", ask(pool="acme"), "POOL_NOT_FOUND", registry=EMPTY),
]


def read_worker(text: str) -> WorkerStatus:
    """`name=lane`, with `!` for a full one and `#hash` for another configuration."""
    name, _, rest = text.partition("=")
    lane, mark, config_hash = rest.rstrip("!").partition("#")
    return worker(name, lane, config_hash=(config_hash or None) if mark else "ours", full=rest.endswith("!"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.why)
def test_a_request_goes_where_it_should(case: Case) -> None:
    facts = facts_of(list(map(read_worker, case.workers)), *case.specs, registry=case.registry)
    match resolve(facts, case.asked, REQUEST):
        case Refused(code):
            assert code == case.to
        case Provisioning():
            assert case.to == "cold"
        case Routed(target, _, lane, direct):
            assert f"{lane}{f'@{direct}' if direct else ''}" == case.to
            assert target.config_hash == (case.registry.scoped_hash(lane.bundle, lane.pool) or "")


@given(pool_strategies.fleets(), pool_strategies.specs(), st.uuids().map(str).map(RequestId))
def test_whoever_is_chosen_is_held_by_the_pool_and_holds_the_configuration(
    fleet: list[WorkerStatus], spec: PoolSpec, request: RequestId
) -> None:
    bundles = [Bundle(BundleName("small"), ("acme.m",), 10), Bundle(BundleName("big"), ("acme.m",), 20)]
    registry = RegistrySnapshot.of(bundles, [Model(ModelId("acme/m"), PROFILES, pool=spec.queue_pool)])
    workers = [
        attrs.evolve(w, bundle_config_hash=registry.scoped_hash(BundleName(w.lane.bundle.lower()), w.lane.pool))
        for w in fleet
    ]
    facts = facts_of(workers, spec, registry=registry)
    facts = replace(facts, book=LaneBook.of([w for w in workers if w.takes_work]))
    held = {worker.name: worker for worker in facts.pools.assignment(spec.name).workers}
    found = resolve(facts, Asked("acme/m", pool=spec.name), request)
    wanted = spec.bundle or BundleName("small")
    fitting = [w for w in workers if w.worker in held and w.lane.bundle.lower() == wanted]
    if not isinstance(found, Routed):
        assert isinstance(found, Provisioning)
        assert not fitting
        return
    assert found.lane in {w.lane for w in fitting}
    is_capped = found.lane.machine_profile.lower() in spec.gpu_caps
    assert (found.direct is not None) == is_capped
    assert found.direct is None or any((w.worker, w.lane) == (found.direct, found.lane) for w in fitting)


@given(st.lists(st.uuids().map(str).map(RequestId), min_size=1, max_size=20), st.integers(0, 4))
def test_a_worker_that_leaves_moves_no_request_but_its_own(requests: list[RequestId], leaver: int) -> None:
    spec = pool_spec("acme", gpus={}, gpu_caps={"l4": 5})
    workers = [worker(f"w{n}", "default/l4/fast") for n in range(5)]
    left = [w for w in workers if w.worker != f"w{leaver}"]
    for request in requests:
        before = resolve(facts_of(workers, spec), ask(pool="acme"), request)
        after = resolve(facts_of(left, spec), ask(pool="acme"), request)
        assert isinstance(before, Routed)
        assert isinstance(after, Routed)
        assert after.direct == before.direct or before.direct == f"w{leaver}"


@pytest.mark.parametrize(("pool", "code"), [(None, ErrorCode.PROVISIONING), ("default", None)])
def test_before_its_models_are_read_a_gateway_says_of_none_that_it_is_not_there(
    pool: str | None, code: ErrorCode | None
) -> None:
    told = ask() if pool is None else ask(pool=pool)
    facts = facts_of([], registry=EMPTY)
    found = resolve(Facts(EMPTY, facts.pools, facts.book, is_synced=False), told, REQUEST)
    assert (found.code if isinstance(found, Refused) else None) == code
    seeded = resolve(Facts(SEEDED, facts.pools, facts.book, is_synced=False), ask("acme/none"), REQUEST)
    assert isinstance(seeded, Refused)
    assert seeded.code is ErrorCode.MODEL_NOT_FOUND


@given(st.text())
def test_an_unregistered_name_is_unknown(name: str) -> None:
    found = resolve(facts_of([], registry=EMPTY), Asked(name), REQUEST)
    assert isinstance(found, Refused)
    assert found.code is ErrorCode.MODEL_NOT_FOUND
