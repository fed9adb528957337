"""Where a request wants to go is read alike in every case of its headers (§2, wire-facts 4.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.domain.ids import BundleName, MachineProfile, PoolName
from sie.gateway.core.asking import Asked, read_asked
from sie.gateway.core.pool_rules import PoolRules, pool_rules
from sie.gateway.core.refusing import Refused

ANY = PoolRules()
DEPLOYED = pool_rules(["l4-spot", "A100"], [], [], ["small=l4-spot"])
M = "acme/m"


def asked(bundle: str | None = None, pool: str | None = None, profile: str | None = None) -> Asked:
    return Asked(
        M,
        None if bundle is None else BundleName(bundle),
        None if pool is None else PoolName(pool),
        None if profile is None else MachineProfile(profile),
    )


@pytest.mark.parametrize(
    ("model", "pool", "profile", "rules", "expected"),
    [
        (M, None, None, ANY, asked()),
        ("Fast:/acme/m", None, None, ANY, asked("fast")),
        (M, " Acme ", None, ANY, asked(None, "acme")),
        (M, None, " L4 ", ANY, asked(None, None, "l4")),
        (M, None, "Acme/L4", ANY, asked(None, "acme", "l4")),
        (M, "other", "acme/l4", ANY, asked(None, "other", "l4")),
        (M, None, "acme/", ANY, asked(None, "acme")),
        (M, "", "", DEPLOYED, asked()),
        (M, None, "a100", DEPLOYED, asked(None, None, "a100")),
        (M, None, "L4", DEPLOYED, asked(None, None, "l4-spot")),
        (M, None, "Small", DEPLOYED, asked(None, None, "l4-spot")),
        (M, None, "h100", DEPLOYED, ErrorCode.GPU_NOT_CONFIGURED),
        (M, None, "no gpu", ANY, ErrorCode.GPU_NOT_CONFIGURED),
        (M, "no.pool", None, ANY, ErrorCode.POOL_NOT_FOUND),
        (M, None, "a/b/l4", ANY, ErrorCode.POOL_NOT_FOUND),
        (":/acme/m", None, None, ANY, ErrorCode.INVALID_REQUEST),
        (" ", None, None, ANY, ErrorCode.INVALID_REQUEST),
    ],
)
def test_the_path_and_two_headers(
    model: str, pool: str | None, profile: str | None, rules: PoolRules, expected: Asked | ErrorCode
) -> None:
    told = {"x-sie-pool": pool, "x-sie-machine-profile": profile}
    found = read_asked(model, {name: value for name, value in told.items() if value is not None}, rules)
    assert (found.code if isinstance(found, Refused) else found) == expected


@given(st.text(), st.text(), st.text(), st.sampled_from((ANY, DEPLOYED)))
def test_whatever_is_asked_is_canonical_or_refused(model: str, pool: str, profile: str, rules: PoolRules) -> None:
    found = read_asked(model, {"x-sie-pool": pool, "x-sie-machine-profile": profile}, rules)
    if isinstance(found, Asked):
        for told in (found.pool, found.profile):
            assert told is None or (told == told.lower() == told.strip() and told)
