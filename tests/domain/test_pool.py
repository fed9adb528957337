"""What may a pool not be (issue E's bad input)? Each refusal names the field, the limit and the value."""

from collections.abc import Mapping

import pytest

from sie.domain.pool import MAX_PINNED, MAX_PROFILES, InvalidPool, PoolSpec, logical_pool_name, pool_spec

NO_GPUS: Mapping[str, int] = {}


def spec(
    name: str = "acme",
    gpus: Mapping[str, int] = NO_GPUS,
    gpu_caps: Mapping[str, int] = NO_GPUS,
    *,
    bundle: str | None = None,
    ttl_seconds: int | None = None,
    minimum_worker_count: int = 0,
    pinned_models: tuple[str, ...] = (),
) -> PoolSpec:
    return pool_spec(
        name,
        gpus=gpus,
        gpu_caps=gpu_caps,
        bundle=bundle,
        ttl_seconds=ttl_seconds,
        minimum_worker_count=minimum_worker_count,
        pinned_models=pinned_models,
    )


@pytest.mark.parametrize("name", ["a.b", "a b", "", "é", "_default", "_DEFAULT", "a/b"])
def test_a_name_that_no_subject_can_carry_is_refused(name: str) -> None:
    with pytest.raises(InvalidPool, match=r"^name must be 1 to 63 letters, digits, '_' or '-', and .*reserved, not"):
        spec(name)


def test_a_name_of_64_characters_is_refused_and_one_of_63_is_not() -> None:
    assert spec("A" * 63).name == "a" * 63
    with pytest.raises(InvalidPool, match=r"^name must be at most 63 characters, not 'a{63}'… of 64 characters$"):
        spec("a" * 64)


def test_upper_case_is_lowered() -> None:
    found = spec(" Acme-1 ", {"L4-Spot": 2}, {"l4-SPOT": 4}, bundle="SGLang")
    assert (found.name, found.gpus, found.gpu_caps, found.bundle) == (
        "acme-1",
        {"l4-spot": 2},
        {"l4-spot": 4},
        "sglang",
    )


@pytest.mark.parametrize(
    ("gpus", "caps", "told"),
    [
        ({"l4": -1}, {}, "gpus.l4 must be 0 to 100000, not -1"),
        ({}, {"l4": -1}, "gpu_caps.l4 must be 0 to 100000, not -1"),
        ({"l4": 10**9}, {}, "gpus.l4 must be 0 to 100000, not 1000000000"),
        ({"l4": 2}, {"l4": 1}, "gpu_caps.l4 must be at least gpus.l4, which is 2, not 1"),
        ({"l4": 1, "L4": 1}, {}, "gpus key must be named once, and 'l4' is there already, not 'L4'"),
        ({"a.b": 1}, {}, "gpus key must be 1 to 63 letters, digits, '_' or '-', not 'a.b'"),
    ],
)
def test_a_count_out_of_its_limits_is_refused(gpus: Mapping[str, int], caps: Mapping[str, int], told: str) -> None:
    with pytest.raises(InvalidPool) as raised:
        spec("acme", gpus, caps)
    assert str(raised.value) == told


@pytest.mark.parametrize("ttl", [0, -1, 10**12])
def test_a_lease_is_for_a_second_to_a_year(ttl: int) -> None:
    with pytest.raises(InvalidPool, match=rf"^ttl_seconds must be 1 to 31622400, not {ttl}$"):
        spec(ttl_seconds=ttl)


def test_a_negative_floor_is_refused() -> None:
    with pytest.raises(InvalidPool, match=r"^minimum_worker_count must be 0 to 100000, not -1$"):
        spec(minimum_worker_count=-1)


def test_long_lists_are_refused() -> None:
    with pytest.raises(InvalidPool, match=r"^gpus must name at most 256 machine profiles, not 257$"):
        spec("acme", {f"p{number}": 1 for number in range(MAX_PROFILES + 1)})
    with pytest.raises(InvalidPool, match=r"^pinned_models must name at most 256 models, not 257$"):
        spec(pinned_models=tuple(f"m{number}" for number in range(MAX_PINNED + 1)))


def test_a_model_is_pinned_once() -> None:
    assert spec(pinned_models=("a", "b", "a")).pinned_models == ("a", "b")


def test_the_field_that_is_refused_is_the_one_asked_for() -> None:
    with pytest.raises(InvalidPool, match=r"^queue_pool must be"):
        logical_pool_name("a.b", "queue_pool")
